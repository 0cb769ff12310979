/** The EC2 launcher against the emulator's EC2 and S3: real requests, real answers, instances without machines. */

import {
  DescribeInstancesCommand,
  DescribeLaunchTemplatesCommand,
  DescribePlacementGroupsCommand,
  EC2Client,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeFleetService } from '../../../functions/aws/ec2/ec2-fleet-service.ts';
import type { FleetPlan } from '../../../functions/launch/ec2/fleet.ts';
import { STOP_GRACE_SECONDS } from '../../../functions/launch/ec2/fleet-view.ts';
import { hostRequests } from '../../../functions/launch/ec2/host-requests.ts';
import type { HostReport } from '../../../functions/launch/job/job-document.ts';
import { outcomeOf } from '../../../functions/launch/job/outcome.ts';
import { planOf } from '../../support/builders/fleet.ts';
import { clientConfiguration } from '../../support/emulator.ts';
import { emulatorOfSuite } from '../../support/emulator-of-suite.ts';
import { objectStoreOf } from '../../support/test-bucket.ts';

const BUCKET = 'tw-data';
const emulator = emulatorOfSuite();
let ec2: EC2Client;
let store: ObjectStore;
let now = new Date('2026-11-21T04:00:00Z');

beforeAll(async () => {
  ec2 = new EC2Client(clientConfiguration(emulator.url));
  const s3 = new S3Client({ ...clientConfiguration(emulator.url), forcePathStyle: true });
  await s3.send(new CreateBucketCommand({ Bucket: BUCKET }));
  store = objectStoreOf(s3, BUCKET);
});

const service = () => makeFleetService({ ec2, store, clock: { now: () => now } });

async function instancesOf(plan: FleetPlan) {
  const { Reservations = [] } = await ec2.send(
    new DescribeInstancesCommand({ Filters: [{ Name: 'tag:tidewheel:job', Values: [plan.name] }] }),
  );
  return Reservations.flatMap(({ Instances = [] }) => Instances);
}

/** Of the first instance, in milliseconds; the emulator's clock is real. */
const launchOf = (instances: Awaited<ReturnType<typeof instancesOf>>): number =>
  Math.min(...instances.map(({ LaunchTime }) => LaunchTime?.getTime() ?? Number.NaN));

/** What a host does at its end. */
async function report(plan: FleetPlan, instanceId: string, over: Partial<HostReport> = {}): Promise<void> {
  const folder = plan.objects.at(-1)?.key.replace(/job\.json$/, '') ?? '';
  const startedAt = '2026-11-21T04:00:10Z';
  const said: HostReport = { instanceId, startedAt, seenAt: startedAt, phase: 'script', ...over };
  await store.writeText(`${folder}hosts/${instanceId}.json`, JSON.stringify(said));
}

/** Every test has an attempt of its own. */
let attempts = 0;
const freshPlan = (): FleetPlan =>
  planOf({ instanceType: 'c5.xlarge', nodes: 2, over: { attempt: ++attempts } });

/** A client whose function dies after so many calls. */
const dying = (calls: number): EC2Client => {
  const client = new EC2Client(clientConfiguration(emulator.url));
  let left = calls;
  client.middlewareStack.add(
    (next) => (args) => (left-- > 0 ? next(args) : Promise.reject(new Error('the function died'))),
    { step: 'initialize' },
  );
  return client;
};

describe('the fleet service', () => {
  it('continues a launch that died between any two calls', async () => {
    const plan = freshPlan();
    for (const calls of [0, 1, 2, 3]) {
      await expect(
        makeFleetService({ ec2: dying(calls), store, clock: { now: () => now } }).launch(plan),
      ).rejects.toThrow('died');
    }
    expect(await service().launch(plan)).toMatchObject({ kind: 'created' });
    expect(await instancesOf(plan)).toHaveLength(2);
  });

  it("reads EC2's reason where a person ends its hosts", async () => {
    const plan = freshPlan();
    await service().launch(plan);
    const InstanceIds = (await instancesOf(plan)).flatMap(({ InstanceId }) => InstanceId ?? []);
    await ec2.send(new TerminateInstancesCommand({ InstanceIds }));
    const job = await service().describe(plan.name);
    expect(job && outcomeOf(job)).toMatchObject({
      kind: 'stopped',
      message: expect.stringMatching(/EC2 ended i-\w+ with Client\.UserInitiatedShutdown/),
    });
  });

  it('ends a gang that does not report', async () => {
    const plan = freshPlan();
    await service().launch(plan);
    const instances = await instancesOf(plan);
    const later = new Date(launchOf(instances) + 901_000);
    const silent = makeFleetService({ ec2, store, clock: { now: () => later } });
    const job = await silent.describe(plan.name);
    expect(job?.FailureReason).toMatch(/no report from i-.*, i-.* for 15 minutes.*; the console of i-/);
    expect(job && outcomeOf(job)).toMatchObject({ kind: 'serviceError', fault: 'silent' });
    await silent.release(plan.name);
    const states = (await instancesOf(plan)).map(({ State }) => State?.Name);
    expect(states.filter((state) => state === 'running' || state === 'pending')).toEqual([]);
  });

  it('takes half a report for none', async () => {
    const plan = freshPlan();
    await service().launch(plan);
    await store.writeText(
      `${plan.objects.at(-1)?.key.replace(/job\.json$/, '')}hosts/i-1.json`,
      '{"instanceId": "i-',
    );
    expect(await service().describe(plan.name)).toMatchObject({
      SecondaryStatus: 'PreparingTrainingStack',
    });
  });

  it('takes no host that leaves meanwhile for silent', async () => {
    const plan = freshPlan();
    await service().launch(plan);
    const ids = (await instancesOf(plan)).flatMap(({ InstanceId }) => InstanceId ?? []);
    const endedAt = new Date(Date.now() + 600_000).toISOString();
    const leave = async (): Promise<void> => {
      for (const id of ids) await report(plan, id, { endedAt, exitCode: 143, stoppedBy: 'spot' });
      await ec2.send(new TerminateInstancesCommand({ InstanceIds: ids }));
    };
    let isLeaving = false;
    const meanwhile: ObjectStore = {
      ...store,
      list: async function* (prefix, ...more) {
        yield* store.list(prefix, ...more);
        if (prefix.endsWith('hosts/') && !isLeaving) {
          isLeaving = true;
          await leave();
        }
      },
    };
    const watched = makeFleetService({ ec2, store: meanwhile, clock: { now: () => now } });
    expect(await watched.describe(plan.name)).toMatchObject({ TrainingJobStatus: 'InProgress' });
    expect(isLeaving).toBe(true);
    expect((await watched.describe(plan.name))?.FailureReason).toMatch(/^CapacityError: EC2 reclaimed i-/);
  });

  it('asks hosts to stop before it ends them', async () => {
    const plan = freshPlan();
    await service().launch(plan);
    expect(await service().stop(plan.name)).toBe('stopping');
    expect(await service().describe(plan.name)).toMatchObject({ TrainingJobStatus: 'Stopping' });
    now = new Date(now.getTime() + STOP_GRACE_SECONDS * 1_000);
    expect(await service().describe(plan.name)).toMatchObject({ TrainingJobStatus: 'InProgress' });
    expect(await service().stop(plan.name)).toBe('stopping');
    const job = await service().describe(plan.name);
    expect(job && outcomeOf(job).kind).toBe('stopped');
    expect(await service().stop(plan.name)).toBe('alreadyEnded');
  });

  it('refuses an unknown instance type before it creates anything', async () => {
    const known = planOf({ instanceType: 'm7a.xlarge', nodes: 1, over: { attempt: ++attempts } });
    // The declaration refuses such a type; EC2 may lack it in this region.
    const plan: typeof known = JSON.parse(JSON.stringify(known).replaceAll('m7a.xlarge', 'h9.xlarge'));
    expect(await service().launch(plan)).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('h9.xlarge'),
    });
  });

  it('leaves nothing behind after one or two releases', async () => {
    const plan = freshPlan();
    await service().launch(plan);
    await service().release(plan.name);
    await service().release(plan.name);
    const { LaunchTemplates = [] } = await ec2.send(new DescribeLaunchTemplatesCommand({}));
    expect(LaunchTemplates.filter(({ LaunchTemplateName }) => LaunchTemplateName === plan.name)).toEqual([]);
    const { PlacementGroups = [] } = await ec2.send(new DescribePlacementGroupsCommand({}));
    expect(PlacementGroups.filter(({ GroupName }) => GroupName === plan.name)).toEqual([]);
    expect((await instancesOf(plan)).map(({ State }) => State?.Name)).toEqual(['terminated', 'terminated']);
  });

  it('replaces a lost host once despite crashes', async () => {
    attempts += 1;
    const plan = planOf({
      instanceType: 'c5.xlarge',
      nodes: 2,
      training: { strategy: 'ddp' },
      over: { attempt: attempts },
    });
    await service().launch(plan);
    const [lost = '', stays = ''] = (await instancesOf(plan)).flatMap(({ InstanceId }) => InstanceId ?? []);
    await ec2.send(new TerminateInstancesCommand({ InstanceIds: [lost] }));
    // Before anything, after the round was opened, instead of the fleet, and after it.
    for (const calls of [0, 1, 1, 2]) {
      const deps = { ec2: dying(calls), store, clock: { now: () => now } };
      await expect(makeFleetService(deps).refill(plan.name, [])).rejects.toThrow('died');
    }
    expect(await service().refill(plan.name, [])).toMatchObject({ kind: 'refilling', round: { round: 2 } });
    expect(await service().refill(plan.name, [lost])).toMatchObject({ kind: 'whole' });
    const alive = (await instancesOf(plan)).filter(({ State }) => State?.Name === 'running');
    const fresh = alive.flatMap(({ InstanceId }) => InstanceId ?? []).filter((id) => id !== stays);
    expect(fresh).toHaveLength(1);
    const folder = plan.objects.at(-1)?.key.replace(/job\.json$/, '') ?? '';
    const members = await store.readText(`${folder}${hostRequests.members(2)}`);
    expect(JSON.parse(members?.text ?? '')).toEqual({ round: 2, members: [stays, ...fresh].sort() });
    expect(await service().describe(plan.name)).toMatchObject({ TrainingJobStatus: 'InProgress' });
  });
});
