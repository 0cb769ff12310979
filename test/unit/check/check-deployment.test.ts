/** Each trouble of an account is one finding, with the field, what follows and the remedy. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { testObjectKey } from '@tidewheel/contract/bucket-keys.ts';
import type { Reservation } from '@tidewheel/placement/market.ts';
import { describe, expect, it } from 'vitest';
import type { AccountView, Subnet } from '../../../functions/check/account-view.ts';
import { testObjectFinding } from '../../../functions/check/arrivals.ts';
import { type CheckDeps, checkDeployment } from '../../../functions/check/check-deployment.ts';
import type { Finding } from '../../../functions/check/finding.ts';
import { account, denied, network, quota, seen, stack } from '../../support/builders/account.ts';
import { declaration } from '../../support/builders/launch.ts';

const VPC = { securityGroupIds: ['sg-1'], subnets: [{ id: 'subnet-a', zoneId: 'use1-az1' }] };
const EC2 = { image: 'ami-0123456789abcdef0' };
const onSageMaker = (over: Parameters<typeof declaration>[0] = {}) =>
  declaration({ ...over, compute: { vpc: VPC, ...over.compute } });
const onEc2 = (compute: Record<string, unknown> = {}) =>
  declaration({ compute: { launcher: 'ec2', vpc: VPC, ec2: EC2, ...compute } });

const check = (view: Partial<AccountView>, over: Partial<CheckDeps> = {}): Promise<readonly Finding[]> =>
  checkDeployment({
    stack: stack(),
    stage: 'dev',
    bucket: 'tw-data',
    region: 'us-east-1',
    stateMachineArn: 'arn:aws:states:us-east-1:123456789012:stateMachine:tidewheel-dev-run',
    viewIn: () => account(view),
    pipelines: [onSageMaker(), onEc2()],
    invalid: [],
    ...over,
  });

const troubles = async (view: Partial<AccountView>, over: Partial<CheckDeps> = {}) =>
  (await check(view, over)).filter(({ kind }) => kind !== 'passed');

const subnet = (over: Partial<Subnet>) => {
  const [first] = network().subnets;
  if (first === undefined) throw new Error('the fixture has no subnet');
  return async () => seen(network({ subnets: [{ ...first, ...over }] }));
};
const INTERNET_GATEWAY = [{ destination: '0.0.0.0/0', via: 'internetGateway', isActive: true }] as const;

describe('an account in order', () => {
  it('passes every check', async () => {
    const findings = await check({});
    expect(findings.filter(({ kind }) => kind !== 'passed')).toEqual([]);
    expect(new Set(findings.map((each) => each.check))).toEqual(
      new Set([
        'stack',
        'declarations',
        'Lambda concurrency',
        'roles',
        'arrivals',
        'dead letters',
        'Spot service role',
        'training quotas',
        'EC2 quotas',
        'network',
        'images and secrets',
      ]),
    );
  });
});

describe('a table that was lost', () => {
  it('is found by what it no longer knows', async () => {
    const names = [onSageMaker(), onEc2()].map(({ name }) => name);
    expect(await troubles({}, { recorded: seen(names) })).toEqual([]);
    const [finding, ...more] = await troubles({}, { recorded: seen([]) });
    expect(more).toEqual([]);
    expect(finding).toMatchObject({
      kind: 'fails',
      field: 'the table',
      remedy: expect.stringContaining('sweep') as unknown,
    });
  });
});

describe('a new account', () => {
  it('packs slowly with ten executions', async () => {
    expect(await troubles({ concurrency: async () => seen({ account: 10, unreserved: 10 }) })).toEqual([
      expect.objectContaining({
        kind: 'limited',
        check: 'Lambda concurrency',
        message: expect.stringContaining('about 44 minutes, against 4') as string,
        remedy: expect.stringContaining('--quota-code L-B99A9384') as string,
      }),
    ]);
  });

  it('has slots enough for the packers of the deployment', async () => {
    const twenty = { concurrency: async () => seen({ account: 20, unreserved: 20 }) };
    expect(await troubles(twenty, { packers: 6 })).toEqual([]);
    expect(await troubles(twenty)).toHaveLength(1);
  });

  it('starts nothing with quotas of 0', async () => {
    const none = async () =>
      seen(
        (await quotasOf()).map((each) => (each.name.startsWith('Longest') ? each : { ...each, value: 0 })),
      );
    const found = await troubles({ quotas: none });
    expect(found.map(({ kind, field }) => [kind, field])).toEqual([
      ['fails', 'digits: compute.instanceTypes (spot)'],
      ['fails', 'digits: compute.instanceTypes (on-demand)'],
      ['fails', 'digits: compute.instanceTypes (spot)'],
      ['fails', 'digits: compute.instanceTypes (on-demand)'],
    ]);
    expect(found[0]).toMatchObject({
      value: 'ml.g5.xlarge for spot training job usage: 0, needed 2',
      remedy: expect.stringContaining('--quota-code L-SPOT --desired-value 2') as string,
    });
    expect(found[2]).toMatchObject({
      value: '2 x g5.xlarge are 8 vCPUs, "All G and VT Spot Instance Requests" is 0',
      remedy: expect.stringContaining(
        '--service-code ec2 --quota-code L-3819A6DF --desired-value 8',
      ) as string,
    });
  });

  it('has no role for Spot', async () => {
    expect(await troubles({ hasSpotRole: async () => seen(false) })).toMatchObject([
      { kind: 'fails', remedy: expect.stringContaining('create-service-linked-role') as string },
    ]);
  });
});

const quotasOf = async () => {
  const look = await account().quotas('sagemaker');
  return look.kind === 'seen' ? look.value : [];
};

describe('quotas', () => {
  it('limit a pipeline that has another market', async () => {
    const noSpot = async () =>
      seen([
        ...(await quotasOf()).filter(({ code }) => code !== 'L-SPOT'),
        quota('ml.g5.xlarge for spot training job usage', 1),
      ]);
    expect(await troubles({ quotas: noSpot }, { pipelines: [onSageMaker()] })).toMatchObject([
      { kind: 'limited', message: expect.stringContaining('On-Demand price') as string },
    ]);
  });

  it('refuse a job longer than five days', async () => {
    const long = { ...onSageMaker(), limits: { ...onSageMaker().limits, maximumRunSeconds: 864_000 } };
    expect(await troubles({}, { pipelines: [long] })).toMatchObject([
      { kind: 'fails', field: 'digits: limits.maximumRunSeconds', value: '864000 s, the quota is 432000 s' },
    ]);
  });

  it('count P5 to the other P families', async () => {
    const old = async () => seen([quota('All P4, P3 and P2 Spot Instance Requests', 96, 'L-7212CCBC')]);
    const p5 = onEc2({ instanceTypes: ['p5.48xlarge'], nodes: 1, purchaseOption: 'spot' });
    expect(await troubles({ quotas: old }, { pipelines: [p5] })).toMatchObject([
      { kind: 'fails', value: expect.stringContaining('192 vCPUs') as string },
    ]);
  });

  it('that AWS does not list are not passed', async () => {
    const found = await troubles({ quotas: async () => seen([]) }, { pipelines: [onSageMaker()] });
    expect(found.map(({ kind }) => kind)).toEqual(['notSeen', 'notSeen']);
  });

  it('of EC2 that are not listed are no proof', async () => {
    expect(await troubles({ quotas: async () => seen([]) }, { pipelines: [onEc2()] })).toMatchObject([
      { kind: 'notSeen', message: 'Service Quotas lists none of L-3819A6DF' },
      { kind: 'notSeen', message: 'Service Quotas lists none of L-DB2E81BA' },
    ]);
  });
});

describe('a subnet', () => {
  it('that does not exist fails', async () => {
    expect(await troubles({ network: async () => seen(network({ subnets: [] })) })).toMatchObject([
      { kind: 'fails', field: 'digits: compute.vpc.subnets subnet-a', value: 'missing' },
      { kind: 'fails', field: 'digits: compute.vpc.subnets subnet-a', value: 'missing' },
    ]);
  });

  it('in another zone fails', async () => {
    expect(await troubles({ network: subnet({ zoneId: 'use1-az6' }) })).toMatchObject([
      { kind: 'fails', remedy: 'write zoneId: use1-az6' },
      { kind: 'fails', remedy: 'write zoneId: use1-az6' },
    ]);
  });

  it('with an internet gateway serves EC2 alone', async () => {
    const view = { network: subnet({ assignsPublicAddress: true, routes: [...INTERNET_GATEWAY] }) };
    expect(await troubles(view, { pipelines: [onEc2()] })).toEqual([]);
    expect(await troubles(view, { pipelines: [onSageMaker()] })).toMatchObject([
      { kind: 'fails', message: expect.stringContaining('no public address') as string },
    ]);
  });

  it('without public addresses does not reach S3', async () => {
    const view = { network: subnet({ routes: [...INTERNET_GATEWAY] }) };
    expect(await troubles(view, { pipelines: [onEc2()] })).toMatchObject([
      { kind: 'fails', value: 'no route to S3', remedy: expect.stringContaining('rtb-1') as string },
    ]);
  });

  it('whose NAT gateway is gone fails', async () => {
    const routes = [{ destination: '0.0.0.0/0', via: 'natGateway', isActive: false }] as const;
    expect(
      await troubles({ network: subnet({ routes: [...routes] }) }, { pipelines: [onEc2()] }),
    ).toMatchObject([{ kind: 'fails', value: 'a route without a target' }]);
  });

  it('with a gateway endpoint lacks the package index', async () => {
    const [first] = network().subnets;
    const only = async () =>
      seen(
        network({
          subnets: first ? [{ ...first, routes: [] }] : [],
          endpoints: [
            { vpcId: 'vpc-1', service: 's3', kind: 'gateway', routeTableIds: ['rtb-1'], isAvailable: true },
          ],
        }),
      );
    expect(await troubles({ network: only }, { pipelines: [onSageMaker()] })).toMatchObject([
      { kind: 'limited', message: 'a requirements.txt cannot be installed from PyPI' },
    ]);
    const packageIndex = {
      url: 'https://index.example/simple/',
      secret: 'arn:aws:secretsmanager:us-east-1:123456789012:secret:index',
    };
    const withSecret = onSageMaker({ training: { packageIndex } });
    expect(await troubles({ network: only }, { pipelines: [withSecret] })).toMatchObject([
      { kind: 'fails', value: 'no route to Secrets Manager' },
    ]);
    const codeArtifact = {
      domain: 'team',
      owner: '111122223333',
      repository: 'wheels',
      region: 'us-east-1',
    };
    const ofCodeArtifact = onSageMaker({ training: { packageIndex: { codeArtifact } } });
    expect(await troubles({ network: only }, { pipelines: [ofCodeArtifact] })).toMatchObject([
      { kind: 'fails', remedy: expect.stringContaining('codeartifact.api and com.amazonaws.') as string },
    ]);
  });

  it('with a public route fails several network cards', async () => {
    const cards = onEc2({
      instanceTypes: ['p4d.24xlarge'],
      purchaseOption: 'spot',
      ec2: { ...EC2, privateSubnets: true },
    });
    const view = {
      network: subnet({ assignsPublicAddress: true, routes: [...INTERNET_GATEWAY] }),
      quotas: async () => seen([quota('All P Spot Instance Requests', 999, 'L-7212CCBC')]),
    };
    expect(await troubles(view, { pipelines: [cards] })).toMatchObject([
      { kind: 'fails', message: expect.stringContaining('p4d.24xlarge') as string },
    ]);
  });
});

describe('a security group', () => {
  it('without a rule for itself fails a gang', async () => {
    const closed = { id: 'sg-1', vpcId: 'vpc-1', allowsOwnInbound: false, allowsOwnOutbound: true };
    const view = { network: async () => seen(network({ securityGroups: [closed] })) };
    expect(await troubles(view, { pipelines: [onSageMaker()] })).toMatchObject([
      { kind: 'fails', remedy: expect.stringContaining('--source-group sg-1') as string },
    ]);
    expect(await troubles(view, { pipelines: [onSageMaker({ compute: { nodes: 1 } })] })).toEqual([]);
  });

  it('of another VPC fails', async () => {
    const foreign = { id: 'sg-1', vpcId: 'vpc-2', allowsOwnInbound: true, allowsOwnOutbound: true };
    const view = { network: async () => seen(network({ securityGroups: [foreign] })) };
    expect(await troubles(view, { pipelines: [onSageMaker()] })).toMatchObject([
      { kind: 'fails', value: 'sg-1 of vpc-2' },
    ]);
  });
});

it('a type of a later generation is named', async () => {
  const instanceTypes = ['c9i.xlarge', 'c5.xlarge'];
  const [first, ...others] = await troubles({}, { pipelines: [onSageMaker({ compute: { instanceTypes } })] });
  expect(first).toMatchObject({ kind: 'limited', value: 'c9i.xlarge' });
  expect(others.map(({ check }) => check)).toEqual(['training quotas', 'training quotas']);
});

describe('images and secrets', () => {
  it('that do not exist fail', async () => {
    const training = {
      image: '123456789012.dkr.ecr.us-east-1.amazonaws.com/mine:1',
      packageIndex: {
        url: 'https://index.example/simple/',
        secret: 'arn:aws:secretsmanager:us-east-1:123456789012:secret:index',
      },
    };
    const none = async () => seen(false);
    const found = await troubles(
      { hasContainerImage: none, hasSecret: none, machineImage: async () => seen(undefined) },
      { pipelines: [declaration({ training }), onEc2()] },
    );
    expect(found.map(({ kind, field }) => [kind, field])).toEqual([
      ['fails', 'digits: training.image'],
      ['fails', 'digits: training.packageIndex.secret'],
      ['fails', 'digits: compute.ec2.image'],
    ]);
  });

  it('name the processor and the root device', async () => {
    const ubuntu = { id: 'ami-1', state: 'available', architecture: 'arm64', rootDevice: '/dev/sda1' };
    expect(
      await troubles({ machineImage: async () => seen(ubuntu) }, { pipelines: [onEc2()] }),
    ).toMatchObject([
      { kind: 'fails', message: 'g5.xlarge cannot start it' },
      { kind: 'limited', remedy: 'write rootDevice: /dev/sda1' },
    ]);
  });
});

describe('the deployment', () => {
  it('names silent buckets, stopped readers and dead letters', async () => {
    expect(await troubles({ sendsEvents: async () => seen(false) })).toMatchObject([
      { kind: 'fails', field: 'bucket notification' },
    ]);
    expect(await troubles({ readerState: async () => seen('Disabled') })).toMatchObject([
      { kind: 'fails', value: 'Disabled' },
    ]);
    expect(await troubles({ messagesIn: async () => seen(3) })).toMatchObject([
      { kind: 'limited', field: 'ArrivalsDeadLetters', value: '3 wait' },
    ]);
  });

  it('counts the dead letters of every queue', async () => {
    const template = ['events.yml', 'generated/alarms.yml']
      .map((file) => readFileSync(path.join(import.meta.dirname, '../../../serverless', file), 'utf8'))
      .join('\n');
    const ids = [...template.matchAll(/^ {2}(\w+DeadLetters):/gm)].map(([, id = '']) => id);
    const resources = new Map(ids.map((id) => [id, `https://sqs/${id}`]));
    const found = await troubles({ messagesIn: async () => seen(2) }, { stack: stack({ resources }) });
    expect(found.flatMap(({ check, field }) => (check === 'dead letters' ? [field] : []))).toEqual(ids);
    expect(ids).toContain('RegistriesDeadLetters');
    expect(ids).toHaveLength(7);
  });

  it('names decisions that no registry knows yet', async () => {
    const resources = new Map([...stack().resources, ['RegistriesQueue', 'https://sqs/q']]);
    const messagesIn = async (queue: string) => seen(queue === 'https://sqs/q' ? 2 : 0);
    expect(await troubles({ messagesIn }, { stack: stack({ resources }) })).toMatchObject([
      { kind: 'limited', check: 'registries', value: '2 wait' },
    ]);
    expect(await troubles({ messagesIn })).toEqual([]);
  });

  it('reports a stack that was rolled back', async () => {
    const rolledBack = stack({ status: 'UPDATE_ROLLBACK_COMPLETE' });
    expect(await troubles({}, { stack: rolledBack })).toMatchObject([{ kind: 'fails', check: 'stack' }]);
  });

  it('lists every problem of a declaration', async () => {
    const invalid = [{ name: 'bad', problems: [{ path: 'training.strategy', message: 'is missing' }] }];
    expect(await troubles({}, { invalid })).toMatchObject([
      { kind: 'fails', field: 'bad: training.strategy', message: 'is missing' },
    ]);
  });

  it('needs a bucket in each further region', async () => {
    const elsewhere = declaration({ compute: { regions: [{ name: 'us-east-1' }, { name: 'us-west-2' }] } });
    expect(await troubles({ hasBucket: async () => seen(false) }, { pipelines: [elsewhere] })).toMatchObject([
      { kind: 'fails', field: 'tw-data-us-west-2' },
    ]);
  });
});

describe('a look without the right', () => {
  it('is never passed', async () => {
    const refused = async () => denied('x:Look');
    const findings = await check({
      concurrency: refused,
      quotas: refused,
      hasSpotRole: refused,
      network: refused,
      machineImage: refused,
      sendsEvents: refused,
      readerState: refused,
      messagesIn: refused,
      decisions: refused,
    });
    const notSeen = findings.filter(({ kind }) => kind === 'notSeen');
    expect(notSeen.map((each) => each.check)).toEqual(
      expect.arrayContaining(['Lambda concurrency', 'roles', 'arrivals', 'network', 'EC2 quotas']),
    );
    expect(findings.filter(({ kind }) => kind === 'passed').map((each) => each.check)).toEqual([
      'stack',
      'declarations',
      'declarations',
    ]);
    expect(notSeen[0]).toMatchObject({ remedy: expect.stringContaining('allow x:Look') as string });
  });
});

describe('the test object', () => {
  const run = async (takenAfter: number, put: () => Promise<void> = async () => undefined) => {
    let milliseconds = 0;
    const removed: string[] = [];
    const finding = await testObjectFinding('7f', {
      testObjects: { takenAt: async () => (milliseconds >= takenAfter ? 'then' : undefined) },
      put,
      remove: async (key) => void removed.push(key),
      now: () => new Date(milliseconds),
      sleep: async (length) => void (milliseconds += length),
    });
    return { finding, removed };
  };

  it('passes when it is taken, and is removed', async () => {
    expect(await run(2_000)).toEqual({
      finding: { check: 'arrivals', field: 'test object', kind: 'passed', value: 'taken after 2.0 s' },
      removed: [testObjectKey('7f')],
    });
  });

  it('fails after a minute, and is removed', async () => {
    const { finding, removed } = await run(Number.POSITIVE_INFINITY);
    expect(finding).toMatchObject({ kind: 'fails', value: 'not taken within 60 s' });
    expect(removed).toHaveLength(1);
  });

  it('is not passed when it cannot be put', async () => {
    const { finding } = await run(0, () => Promise.reject(new Error('AccessDenied')));
    expect(finding).toMatchObject({ kind: 'notSeen', message: 'Error: AccessDenied' });
  });
});

describe('what a pipeline names as reserved', () => {
  const reservation: Reservation = {
    id: 'cr-0123456789abcdef0',
    kind: 'capacity-block',
    instanceType: 'p5.48xlarge',
    zoneId: 'use1-az1',
    instances: 2,
    availableInstances: 2,
    state: 'active',
    windows: [{ startsAt: '2026-11-01T00:00:00.000Z' }],
  };
  const found = async (
    change: Partial<Reservation>,
    compute: Record<string, unknown> = {},
    notes: string[] = [],
  ) =>
    (
      await check(
        {},
        {
          pipelines: [onEc2({ instanceTypes: ['p5.48xlarge'], reserved: [reservation.id], ...compute })],
          reserved: {
            source: () => Promise.resolve({ reservations: [{ ...reservation, ...change }], notes }),
            now: () => new Date('2026-11-30T00:00:00Z'),
          },
        },
      )
    ).filter(({ check: name }) => name === 'reservations');

  it('passes where a run can use it', async () => {
    expect(await found({})).toMatchObject([{ kind: 'passed', value: reservation.id }]);
  });

  it('fails with the remedy where none can', async () => {
    const missing =
      'compute.reserved names cr-1, and this account has no such reservation in us-east-1: correct or remove it';
    const cases = [
      found({ state: 'expired' }),
      found({}, { instanceTypes: ['g5.xlarge'] }),
      found({ kind: 'training-plan' }),
      found({ zoneId: 'use1-az6' }),
      found({ windows: [{ startsAt: '2026-11-01T00:00:00.000Z', endsAt: '2026-11-30T00:20:00.000Z' }] }),
      found({}, {}, [missing]),
    ];
    const messages = (await Promise.all(cases)).map(
      ([finding]) => finding?.kind === 'fails' && [finding.message, finding.remedy],
    );
    expect(messages).toEqual([
      [`${reservation.id} is expired`, 'remove it from compute.reserved'],
      [
        `${reservation.id} holds p5.48xlarge, which the pipeline does not use`,
        'add it to compute.instanceTypes, or remove it from compute.reserved',
      ],
      [`${reservation.id} serves sagemaker alone`, 'name it as launcher, or remove it from compute.reserved'],
      [
        `${reservation.id} is in use1-az6`,
        'add a subnet there to compute.vpc.subnets, or remove it from compute.reserved',
      ],
      [`${reservation.id} has ended`, 'remove it from compute.reserved'],
      [
        'compute.reserved names cr-1, and this account has no such reservation in us-east-1',
        'correct or remove it',
      ],
    ]);
  });

  it('is not judged where AWS does not answer', async () => {
    const denial =
      'reservations unknown (denied): UnauthorizedOperation: You are not authorized. User: arn:aws:iam::1:user/a';
    expect(await found({}, {}, [denial])).toEqual([
      {
        kind: 'notSeen',
        check: 'reservations',
        field: 'digits: compute.reserved',
        message: denial,
        remedy: expect.stringContaining('ec2:DescribeCapacityReservations') as string,
      },
    ]);
  });
});
