import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

interface Resource {
  readonly Type: string;
  readonly Properties: Readonly<Record<string, unknown>>;
}
interface Template {
  readonly Resources: Readonly<Record<string, Resource>>;
  readonly Outputs?: Readonly<Record<string, unknown>>;
}
const load = createRequire(import.meta.url);
const shaping: { shapeTemplate(template: Template, parameters: unknown): Template } = load(
  '../../../serverless/shape-template.cjs',
);
const parameters: { withDefaults(given: unknown): unknown } = load('../../../serverless/parameters.cjs');

/** As osls compiles it: `!Ref` and `!GetAtt` in their long forms. */
const intrinsics = ['Ref', 'Sub', 'GetAtt'].map((name) => ({
  tag: `!${name}`,
  resolve: (text: string) =>
    name === 'Ref' ? { Ref: text } : { [`Fn::${name}`]: name === 'GetAtt' ? text.split('.') : text },
}));
const read = (file: string): Template =>
  parse(readFileSync(`serverless/${file}.yml`, 'utf8'), { customTags: intrinsics }) as Template;
const GENERATED = ['alarms', 'roles', 'state-machine'].map((name) => `generated/${name}`);
const files = ['events', 'storage', ...GENERATED].map(read);
const functionResource = { Type: 'AWS::Lambda::Function', Properties: { Timeout: 60 } };
const launch = { Type: 'AWS::Lambda::Function', Properties: { Environment: { Variables: { A: 'b' } } } };
const template: Template = {
  Resources: Object.assign(
    { Settle: functionResource, LaunchLambdaFunction: launch },
    ...files.map((file) => file.Resources),
  ),
  Outputs: Object.assign({}, ...files.map((file) => file.Outputs)),
};
const shaped = (given: Readonly<Record<string, string>>): Template =>
  shaping.shapeTemplate(template, parameters.withDefaults(given));
const propertiesOf = ({ Resources }: Template, id: string) => Resources[id]?.Properties;

describe('a template without parameters', () => {
  it('stays as it is', () => {
    expect(shaped({})).toEqual(template);
  });
});

describe('alarmEmail', () => {
  it('subscribes the address to the topic', () => {
    const subscription = [{ Protocol: 'email', Endpoint: 'ops@example.org' }];
    expect(propertiesOf(shaped({ alarmEmail: 'ops@example.org' }), 'AlarmTopic')).toMatchObject({
      Subscription: subscription,
    });
  });
});

describe('alarmTopic', () => {
  const arn = 'arn:aws:sns:us-east-1:123456789012:ops';

  it('takes the place of the own topic everywhere', () => {
    const made = shaped({ alarmTopic: arn });
    expect(JSON.stringify(made)).not.toContain('"AlarmTopic"');
    expect(propertiesOf(made, 'ThrottlesAlarm')).toMatchObject({ AlarmActions: [arn], OKActions: [arn] });
    expect(propertiesOf(made, 'NoticeRule')).toMatchObject({ Targets: [{ Arn: arn }] });
    expect(made.Outputs).toMatchObject({ AlarmTopicArn: { Value: arn } });
  });
});

describe('dashboard', () => {
  it('is left out when it is not wanted', () => {
    expect(template.Resources['Dashboard']).toBeDefined();
    expect(shaped({ dashboard: 'no' }).Resources['Dashboard']).toBeUndefined();
  });
});

describe('tracing', () => {
  const made = shaped({ tracing: 'yes' });

  it('covers functions and executions', () => {
    expect(propertiesOf(made, 'Settle')).toEqual({ Timeout: 60, TracingConfig: { Mode: 'Active' } });
    expect(propertiesOf(made, 'RunStateMachine')).toMatchObject({ TracingConfiguration: { Enabled: true } });
  });

  it('gives rights to their roles alone', () => {
    const mayTrace = (id: string) => JSON.stringify(propertiesOf(made, id)).includes('xray:PutTraceSegments');
    expect(['SettleRole', 'StateMachineRole'].map(mayTrace)).toEqual([true, true]);
    expect(mayTrace('ScheduleRole')).toBe(false);
  });
});

describe('versioning', () => {
  it('keeps replaced versions for thirty days', () => {
    const bucket = propertiesOf(shaped({ versioning: 'yes' }), 'DataBucket');
    expect(bucket).toMatchObject({ VersioningConfiguration: { Status: 'Enabled' } });
    expect(JSON.stringify(bucket?.['LifecycleConfiguration'])).toContain('"NoncurrentDays":30');
    expect(JSON.stringify(bucket?.['LifecycleConfiguration'])).toContain('abandoned-uploads');
  });
});

describe('kmsKey', () => {
  const key = 'arn:aws:kms:us-east-1:123456789012:key/abc';
  const made = shaped({ kmsKey: key });

  it('becomes the default key of the bucket', () => {
    expect(propertiesOf(made, 'DataBucket')).toMatchObject({
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [
          {
            BucketKeyEnabled: true,
            ServerSideEncryptionByDefault: { SSEAlgorithm: 'aws:kms', KMSMasterKeyID: key },
          },
        ],
      },
    });
  });

  it('reaches launch, for the models', () => {
    expect(propertiesOf(made, 'LaunchLambdaFunction')).toEqual({
      Environment: { Variables: { A: 'b', TIDEWHEEL_KMS_KEY: key } },
    });
  });

  it('may be used by every role that touches objects', () => {
    const policies = Object.entries(made.Resources).filter(([, { Type }]) => /Role$|Policy$/.test(Type));
    const text = (resource: Resource) => JSON.stringify(resource.Properties);
    const lacking = policies.filter(
      ([id, each]) =>
        id !== 'DataBucketPolicy' && /s3:(Get|Put)Object"/.test(text(each)) !== text(each).includes(key),
    );
    expect(lacking.map(([id]) => id)).toEqual([]);
    expect(policies.filter(([, each]) => text(each).includes(key)).length).toBeGreaterThan(10);
  });
});

describe('a bucket and a table that exist', () => {
  const made = shaped({ bucket: 'lake', table: 'records' });
  const text = JSON.stringify(made);

  it('take the place of those of the stack', () => {
    for (const id of ['DataBucket', 'DataBucketPolicy', 'Table']) expect(made.Resources[id]).toBeUndefined();
    expect(text).not.toMatch(/DataBucket["}.]|"Table"|\$\{Table/);
    expect(made.Outputs).toMatchObject({
      DataBucketName: { Value: 'lake' },
      TableName: { Value: 'records' },
    });
  });

  it('report arrivals and deleted declarations through EventBridge', () => {
    const queue = { 'Fn::GetAtt': ['ArrivalsQueue', 'Arn'] };
    for (const [id, type] of [
      ['ArrivalRule', 'Object Created'],
      ['DeclarationRule', 'Object Deleted'],
    ] as const)
      expect(propertiesOf(made, id)).toMatchObject({
        EventPattern: { 'detail-type': [type], detail: { bucket: { name: ['lake'] } } },
        Targets: [{ Arn: queue }],
      });
    const policy = JSON.stringify(propertiesOf(made, 'ArrivalsQueuePolicy'));
    expect(policy).toContain('["ArrivalRule","Arn"]},{"Fn::GetAtt":["DeclarationRule","Arn"]');
  });

  it('may have a customer key', () => {
    const key = 'arn:aws:kms:us-east-1:123456789012:key/abc';
    const encrypted = shaped({ bucket: 'lake', kmsKey: key });
    expect(encrypted.Resources['DataBucket']).toBeUndefined();
    expect(JSON.stringify(propertiesOf(encrypted, 'SettleRole'))).toContain(key);
  });

  it('are named in rules and rights', () => {
    expect(JSON.stringify(propertiesOf(made, 'ArrivalRule'))).toContain('"bucket":{"name":["lake"]}');
    expect(text).toContain('arn:${AWS::Partition}:s3:::lake/*/incoming/*');
    expect(text).toContain('table/records/index/*');
  });
});
