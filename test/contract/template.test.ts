import { execFile } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { PutEventsRequestEntry } from '@aws-sdk/client-eventbridge';
import { interruptionWarning } from '@tidewheel/emulators/spot-market/model/instance-events.ts';
import { beforeAll, describe, expect, it } from 'vitest';
import { rebalanceRecommendation } from '../support/rebalance.ts';
import { resolve } from './intrinsics.ts';
import { ofType, type Packaged, packaged, type Resource } from './packaged.ts';

const run = promisify(execFile);
const CFN_LINT = join('.venv', process.platform === 'win32' ? 'Scripts' : 'bin', 'cfn-lint');

let made: Packaged;
beforeAll(async () => {
  made = await packaged();
}, 300_000);

const get = (value: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>(
    (inner, name) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, name) : undefined),
    value,
  );

const all = (type: string): [string, Resource][] => {
  const found = ofType(made.template, type);
  if (found.length === 0) throw new Error(`the template holds no ${type}`);
  return found;
};

/** The resources that a rule does not hold for: the list is to be empty, and names them where it is not. */
const offenders = (entries: [string, Resource][], holds: (resource: Resource) => boolean): string[] =>
  entries.filter(([, resource]) => !holds(resource)).map(([id]) => id);

const functionName = ({ Properties }: Resource): string =>
  String(Properties['FunctionName']).replace(/^tidewheel-dev-/, '');
const list = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);
const property = (id: unknown, ...path: string[]): unknown =>
  get(made.template.Resources[String(id)], 'Properties', ...path);

describe('the packaged template', () => {
  it('passes cfn-lint', async () => {
    // W3005: osls writes DependsOn beside the reference that implies it. E3601: cfn-lint takes `arn:aws:` alone for an
    // integration of Step Functions, not another partition; asl-validator checks the states.
    // W8003: osls fills parameters in, so a condition is decided before CloudFormation reads it.
    const { stdout } = await run(CFN_LINT, [
      '--ignore-checks',
      'W3005',
      'E3601',
      'W8003',
      '--format',
      'parseable',
      made.templateFile,
    ]).catch((error: unknown) => ({
      stdout: `${String(get(error, 'message'))}\n${String(get(error, 'stdout'))}`,
    }));
    expect(stdout.trim().split('\n').filter(Boolean)).toEqual([]);
  });

  it('holds one function for every handler', () => {
    const folders = readdirSync('functions/handlers').filter(
      (name) =>
        statSync(join('functions/handlers', name, 'handler.ts'), { throwIfNoEntry: false }) !== undefined,
    );
    const names = all('AWS::Lambda::Function').map(([, resource]) => functionName(resource));
    expect(names.toSorted()).toEqual(folders.toSorted());
  });

  it('points every function at its handler', () => {
    const elsewhere = offenders(
      all('AWS::Lambda::Function'),
      (resource) =>
        resource.Properties['Handler'] === `functions/handlers/${functionName(resource)}/handler.handler`,
    );
    expect(elsewhere).toEqual([]);
  });

  it('runs every function on Node 24, bounded', () => {
    const odd = offenders(
      all('AWS::Lambda::Function'),
      ({ Properties }) => Properties['Runtime'] === 'nodejs24.x' && Number(Properties['Timeout']) <= 900,
    );
    expect(odd).toEqual([]);
  });

  it('keeps no version of a function', () => {
    // Each deployment would add one of every function, and an account has 75 GB for them.
    expect(ofType(made.template, 'AWS::Lambda::Version')).toEqual([]);
  });

  it('names the number of packers to planning functions', () => {
    const settings = all('AWS::Lambda::Function').flatMap(([, resource]) => {
      const packers = get(resource.Properties, 'Environment', 'Variables', 'TIDEWHEEL_PACKERS');
      return packers === undefined ? [] : [[functionName(resource), packers] as const];
    });
    expect(Object.fromEntries(settings)).toEqual({ 'plan-compaction': '100', 'plan-shards': '100' });
  });

  it('keeps every bundle far below the limit of Lambda', () => {
    const zips = readdirSync(made.folder).filter((name) => name.endsWith('.zip'));
    expect(zips.length).toBe(all('AWS::Lambda::Function').length);
    expect(zips.filter((zip) => statSync(join(made.folder, zip)).size > 10_000_000)).toEqual([]);
  });

  it('writes no secret into an environment', () => {
    const secretive = offenders(all('AWS::Lambda::Function'), ({ Properties }) =>
      Object.keys(get(Properties, 'Environment', 'Variables') ?? {}).every(
        (name) => !/SECRET|PASSWORD|TOKEN|ACCESS_KEY/.test(name),
      ),
    );
    expect(secretive).toEqual([]);
  });
});

/** osls brings a bucket of its own for deployments. */
const buckets = (): [string, Resource][] =>
  all('AWS::S3::Bucket').filter(([id]) => id !== 'ServerlessDeploymentBucket');

describe('the stores', () => {
  it('are private buckets', () => {
    const switches = ['BlockPublicAcls', 'BlockPublicPolicy', 'IgnorePublicAcls', 'RestrictPublicBuckets'];
    const open = offenders(buckets(), ({ Properties }) =>
      switches.every((name) => get(Properties, 'PublicAccessBlockConfiguration', name) === true),
    );
    expect(open).toEqual([]);
  });

  it('are encrypted buckets', () => {
    const plain = offenders(
      buckets(),
      ({ Properties }) =>
        get(Properties, 'BucketEncryption', 'ServerSideEncryptionConfiguration') !== undefined,
    );
    expect(plain).toEqual([]);
  });

  it('notify the arrivals queue of every object', () => {
    // EventBridge would cost a dollar a million beside the queue.
    expect(buckets().map(([, { Properties }]) => Properties['NotificationConfiguration'])).toEqual([
      {
        QueueConfigurations: [
          { Event: 's3:ObjectCreated:*', Queue: { 'Fn::GetAtt': ['ArrivalsQueue', 'Arn'] } },
          expect.objectContaining({ Event: 's3:ObjectRemoved:*' }),
        ],
      },
    ]);
  });

  it('configure notifications once the queue takes them', () => {
    // S3 tests the queue, and the stack fails when the queue refuses.
    for (const [, bucket] of buckets()) {
      const [policy = ''] = [bucket.DependsOn ?? []].flat();
      expect(property(policy, 'Queues')).toEqual([{ Ref: 'ArrivalsQueue' }]);
      expect(JSON.stringify(property(policy))).not.toContain('DataBucket');
      expect(property(policy, 'PolicyDocument', 'Statement', '0')).toMatchObject({
        Effect: 'Allow',
        Principal: { Service: 's3.amazonaws.com' },
        Action: 'sqs:SendMessage',
        Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
      });
    }
  });

  it('survive the removal of the stack', () => {
    const kept = [...buckets(), ...all('AWS::DynamoDB::Table')];
    expect(offenders(kept, ({ DeletionPolicy }) => DeletionPolicy === 'Retain')).toEqual([]);
  });

  it('refuse every caller without TLS', () => {
    const closed = all('AWS::S3::BucketPolicy')
      .filter(([, { Properties }]) =>
        list(resolve(made.template, get(Properties, 'PolicyDocument', 'Statement'))).some(
          (statement) =>
            get(statement, 'Effect') === 'Deny' &&
            get(statement, 'Principal') === '*' &&
            get(statement, 'Action') === 's3:*' &&
            get(statement, 'Condition', 'Bool', 'aws:SecureTransport') === 'false',
        ),
      )
      .map(([, { Properties }]) => get(Properties, 'Bucket', 'Ref'));
    expect(closed).toEqual(expect.arrayContaining(buckets().map(([id]) => id)));
  });

  it('encrypt every table, with point-in-time recovery', () => {
    const weak = offenders(
      all('AWS::DynamoDB::Table'),
      ({ Properties }) =>
        get(Properties, 'SSESpecification', 'SSEEnabled') === true &&
        get(Properties, 'PointInTimeRecoverySpecification', 'PointInTimeRecoveryEnabled') === true,
    );
    expect(weak).toEqual([]);
  });

  it('encrypt every queue', () => {
    const plain = offenders(
      all('AWS::SQS::Queue'),
      ({ Properties }) =>
        Properties['SqsManagedSseEnabled'] === true || Properties['KmsMasterKeyId'] !== undefined,
    );
    expect(plain).toEqual([]);
  });
});

const mappings = () => all('AWS::Lambda::EventSourceMapping');
const queueOf = ({ Properties }: Resource): unknown => get(Properties, 'EventSourceArn', 'Fn::GetAtt', '0');

describe('events', () => {
  it('hide messages six times the function timeout', () => {
    const short = offenders(mappings(), (mapping) => {
      const reader = get(mapping.Properties, 'FunctionName', 'Fn::GetAtt', '0');
      return (
        Number(property(queueOf(mapping), 'VisibilityTimeout')) >= 6 * Number(property(reader, 'Timeout'))
      );
    });
    expect(short).toEqual([]);
  });

  it('leave concurrent executions to the other functions', () => {
    const limits = all('AWS::Lambda::EventSourceMapping').map(([, { Properties }]) =>
      Number(get(Properties, 'ScalingConfig', 'MaximumConcurrency')),
    );
    // 2 is the least that Lambda takes. A new account may have 10.
    expect(Math.min(...limits)).toBeGreaterThanOrEqual(2);
    expect(limits.reduce((sum, limit) => sum + limit)).toBeLessThan(10);
  });

  it('fail one by one, not as a batch', () => {
    expect(
      offenders(
        mappings(),
        ({ Properties }) => get(Properties, 'FunctionResponseTypes', '0') === 'ReportBatchItemFailures',
      ),
    ).toEqual([]);
  });

  it('end in a dead-letter queue for 14 days', () => {
    const lost = offenders(mappings(), (mapping) => {
      const letters = get(
        property(queueOf(mapping), 'RedrivePolicy'),
        'deadLetterTargetArn',
        'Fn::GetAtt',
        '0',
      );
      return property(letters, 'MessageRetentionPeriod') === 14 * 86_400;
    });
    expect(lost).toEqual([]);
  });

  it('have a dead-letter queue at every target', () => {
    // A schedule that is missed is made up for by the next one, so those need none.
    const patterns = all('AWS::Events::Rule').filter(
      ([, { Properties }]) => Properties['EventPattern'] !== undefined,
    );
    expect(patterns.length).toBeGreaterThan(0);
    const bare = offenders(patterns, ({ Properties }) =>
      list(Properties['Targets']).every((target) => get(target, 'DeadLetterConfig', 'Arn') !== undefined),
    );
    expect(bare).toEqual([]);
  });
});

/** Whether a pattern of plain lists of values takes an event. */
const takes = (pattern: unknown, event: unknown): boolean =>
  Array.isArray(pattern)
    ? pattern.includes(event)
    : Object.entries(pattern ?? {}).every(([name, inner]) => takes(inner, get(event, name)));

describe('what EC2 says of instances', () => {
  const host = { instanceId: 'i-0123456789abcdef0', zoneId: 'use1-az1', accountId: '123456789012' };
  const inBus = ({ Source, DetailType, Detail }: PutEventsRequestEntry): unknown => ({
    source: Source,
    'detail-type': DetailType,
    detail: JSON.parse(Detail ?? '{}') as unknown,
  });
  const state = (name: string): unknown => ({
    source: 'aws.ec2',
    'detail-type': 'EC2 Instance State-change Notification',
    detail: { 'instance-id': host.instanceId, state: name },
  });
  const reaches = (event: unknown): unknown[] =>
    all('AWS::Events::Rule')
      .filter(([, { Properties }]) => get(Properties, 'EventPattern', 'source', '0') === 'aws.ec2')
      .filter(([, { Properties }]) => takes(Properties['EventPattern'], event))
      .flatMap(([, { Properties }]) => list(Properties['Targets']))
      .map((target) => get(target, 'Arn', 'Fn::GetAtt', '0'));

  it.each([
    [
      'SpotWarningsQueue',
      [interruptionWarning(host), rebalanceRecommendation(host.instanceId, 'us-east-1')].map(inBus),
    ],
    ['HostStatesQueue', ['shutting-down', 'terminated', 'stopping', 'stopped'].map(state)],
  ])('reaches on-spot-warning through %s', (queue, events) => {
    for (const event of events) expect(reaches(event)).toEqual([queue]);
    const reader = mappings().find(([, mapping]) => queueOf(mapping) === queue);
    expect(get(reader?.[1].Properties, 'FunctionName', 'Fn::GetAtt', '0')).toBe(
      'OnDashspotDashwarningLambdaFunction',
    );
  });

  it('wakes no function when an instance starts', () => {
    expect(['pending', 'running'].flatMap((name) => reaches(state(name)))).toEqual([]);
  });
});

describe('the HTTP API', () => {
  it('refuses every unsigned call', () => {
    expect(
      offenders(
        all('AWS::ApiGatewayV2::Route'),
        ({ Properties }) => Properties['AuthorizationType'] === 'AWS_IAM',
      ),
    ).toEqual([]);
  });

  it('is throttled and writes an access log', () => {
    const unbounded = offenders(all('AWS::ApiGatewayV2::Stage'), ({ Properties }) => {
      const { ThrottlingRateLimit, ThrottlingBurstLimit } = Object(Properties['DefaultRouteSettings']) as {
        readonly ThrottlingRateLimit?: number;
        readonly ThrottlingBurstLimit?: number;
      };
      const isBounded = Number(ThrottlingRateLimit) > 0 && Number(ThrottlingBurstLimit) > 0;
      return isBounded && get(Properties, 'AccessLogSettings', 'DestinationArn') !== undefined;
    });
    expect(unbounded).toEqual([]);
  });

  it('answers within the time that API Gateway waits', () => {
    expect(
      offenders(
        all('AWS::ApiGatewayV2::Integration'),
        ({ Properties }) => Number(Properties['TimeoutInMillis']) <= 30_000,
      ),
    ).toEqual([]);
  });
});
