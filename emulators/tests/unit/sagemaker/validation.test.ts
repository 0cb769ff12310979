import type { CreateTrainingJobRequest } from '@aws-sdk/client-sagemaker';
import { describe, expect, test } from 'vitest';
import { brokenRules } from '../../../sagemaker/api/rules.ts';
import model from '../../../sagemaker/api/service-model.json' with { type: 'json' };
import { JSON_BODY, requestViolations, violationMessage } from '../../../sagemaker/api/service-model.ts';
import { channel, groups, plainRequest, spotRequest } from './requests.ts';

const shape = (body: unknown) => requestViolations(model, 'CreateTrainingJob', body, JSON_BODY);
const rules = (request: ReturnType<typeof plainRequest>) => brokenRules(request);

test('a plain request and a Spot request are taken', () => {
  for (const request of [plainRequest(), spotRequest()]) {
    expect(shape(request)).toEqual([]);
    expect(rules(request)).toEqual([]);
  }
});

test('one message names every broken constraint', () => {
  const problems = shape({
    TrainingJobName: 'under_score',
    RoleArn: 'short',
    HyperParameters: { ok: 5, lines: 'a\nb', long: 'x'.repeat(2_501) },
    AlgorithmSpecification: { TrainingInputMode: 'Files', ContainerEntrypoint: [] },
    InputDataConfig: [channel('a b'), { ChannelName: 'c' }],
    ResourceConfig: { InstanceType: 'ml.huge', InstanceCount: 1.5 },
    StoppingCondition: { MaxRuntimeInSeconds: 0 },
    Typo: 1,
  });
  for (const place of [
    "'trainingJobName'",
    "'roleArn'",
    "'hyperParameters.ok.member'",
    "'hyperParameters.lines.member'",
    "'hyperParameters.long.member'",
    "'algorithmSpecification.trainingInputMode'",
    "'algorithmSpecification.containerEntrypoint'",
    "'inputDataConfig.1.member.channelName'",
    "'inputDataConfig.2.member.dataSource'",
    "'resourceConfig.instanceType'",
    "'resourceConfig.instanceCount'",
    "'stoppingCondition.maxRuntimeInSeconds'",
    "'outputDataConfig'",
    "'typo'",
  ]) {
    expect(problems.filter(({ message }) => message.includes(place))).not.toEqual([]);
  }
  expect(violationMessage(problems)).toMatch(new RegExp(`^${problems.length} validation errors detected: `));
});

test.each([
  ['-leading', false],
  ['trailing-', false],
  ['a--b', true],
  ['a.b', false],
  ['x'.repeat(63), true],
  ['x'.repeat(64), false],
  ['', false],
  ['name\n', false],
])('the job name %j is valid: %s', (TrainingJobName, isValid) => {
  expect(shape({ ...plainRequest(), TrainingJobName }).length === 0).toBe(isValid);
});

test('a body that is no structure is refused', () => {
  for (const body of [null, [], 'text', 5]) expect(shape(body)).toHaveLength(1);
});

test('names from the prototype are no members', () => {
  expect(shape(JSON.parse('{"__proto__": 1, "constructor": 2}'))).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ rule: 'unknown', path: 'constructor' }),
      expect.objectContaining({ rule: 'unknown', path: '__proto__' }),
    ]),
  );
});

test.each([
  [
    'a wait limit without Spot',
    plainRequest({ StoppingCondition: { MaxRuntimeInSeconds: 1, MaxWaitTimeInSeconds: 2 } }),
    /only supported when EnableManagedSpotTraining/,
  ],
  [
    'Spot without a wait limit',
    spotRequest({ StoppingCondition: { MaxRuntimeInSeconds: 1 } }),
    /MaxWaitTimeInSeconds is required/,
  ],
  [
    'a wait limit under the run limit',
    spotRequest({ StoppingCondition: { MaxRuntimeInSeconds: 2, MaxWaitTimeInSeconds: 1 } }),
    /must not be less/,
  ],
  [
    'a default run limit over the wait limit',
    spotRequest({ StoppingCondition: { MaxWaitTimeInSeconds: 3_600 } }),
    /less than MaxRuntimeInSeconds 86400/,
  ],
  [
    'more than 28 days',
    plainRequest({ StoppingCondition: { MaxRuntimeInSeconds: 28 * 86_400 + 1 } }),
    /28 days/,
  ],
  [
    'Spot with a warm pool',
    spotRequest({
      ResourceConfig: { InstanceType: 'ml.c5.xlarge', InstanceCount: 1, KeepAlivePeriodInSeconds: 60 },
    }),
    /KeepAlivePeriodInSeconds is not supported/,
  ],
  [
    'groups beside a type',
    plainRequest({ ResourceConfig: { ...groups(1), InstanceType: 'ml.c5.xlarge' } }),
    /^InstanceType or InstanceCount cannot be specified with InstanceGroups$/,
  ],
  ['an empty group', plainRequest({ ResourceConfig: groups(1, 0) }), /'group-1' needs an InstanceCount/],
  [
    'no instance count',
    plainRequest({ ResourceConfig: { InstanceType: 'ml.c5.xlarge' } }),
    /InstanceCount of 1 or more/,
  ],
  [
    'two channels of one name',
    plainRequest({ InputDataConfig: [channel('a'), channel('a')] }),
    /channel 'a' more than once/,
  ],
  [
    'a group that is not there',
    plainRequest({
      ResourceConfig: groups(1),
      InputDataConfig: [channel('a', { InstanceGroupNames: ['gpu'] })],
    }),
    /there are only: group-0/,
  ],
  [
    'group names without groups',
    plainRequest({ InputDataConfig: [channel('a', { InstanceGroupNames: ['gpu'] })] }),
    /needs InstanceGroups/,
  ],
  [
    'FastFile over a manifest',
    plainRequest({
      InputDataConfig: [{ ...channel('a', { S3DataType: 'ManifestFile' }), InputMode: 'FastFile' }],
    }),
    /only supported with S3DataType S3Prefix/,
  ],
  [
    'a channel without a source',
    plainRequest({ InputDataConfig: [{ ChannelName: 'a', DataSource: {} }] }),
    /exactly one data source, it has 0/,
  ],
  ['no algorithm', plainRequest({ AlgorithmSpecification: undefined }), /AlgorithmSpecification is missing/],
])('refuses %s', (_, request, problem) => {
  expect(rules(request)).toEqual([expect.stringMatching(problem)]);
});

test.each(
  Object.entries({
    MlflowConfig: { MlflowResourceArn: 'arn:aws:sagemaker:us-east-1:123456789012:mlflow-app/app-1' },
    ModelPackageConfig: {
      ModelPackageGroupArn: 'arn:aws:sagemaker:us-east-1:123456789012:model-package-group/group',
    },
    ServerlessJobConfig: {
      BaseModelArn:
        'arn:aws:sagemaker:us-east-1:aws:hub-content/SageMakerPublicHub/Model/meta-textgeneration-llama-3-1-8b/1.0.0',
      JobType: 'FineTuning' as const,
    },
  }),
)('refuses %s of serverless jobs', (member, value) => {
  expect(rules(plainRequest({ [member]: value }))).toEqual([
    `The local SageMaker runs no serverless jobs: remove ${member}`,
  ]);
});

test('channels name instance groups all or not', () => {
  const request = plainRequest({
    ResourceConfig: groups(1, 1),
    InputDataConfig: [
      channel('processing', { InstanceGroupNames: ['group-1'] }),
      channel('code'),
      channel('sm_drivers'),
    ],
  });
  expect(rules(request)).toEqual([
    'Some channels have assigned instance groups: [processing] while others not: [code, sm_drivers]',
  ]);
});

describe('instance preferences', () => {
  const preferred = (
    ResourceConfig: CreateTrainingJobRequest['ResourceConfig'],
    more: Partial<CreateTrainingJobRequest> = {},
  ) => rules(plainRequest({ ResourceConfig, ...more }));
  const [first, second] = [{ InstanceType: 'ml.g5.xlarge' }, { InstanceType: 'ml.g6.xlarge' }] as const;

  test('are counted in one place', () => {
    const COUNT =
      'InstancePreferences needs an InstanceCount in ResourceConfig, or in every preference, not in both';
    const each = [first, second].map((type) => ({ ...type, InstanceCount: 2 }));
    const some = [{ ...first, InstanceCount: 2 }, second];
    expect(preferred({ InstancePreferences: [first, second], InstanceCount: 2 })).toEqual([]);
    expect(preferred({ InstancePreferences: each })).toEqual([]);
    expect(preferred({ InstancePreferences: [first, second] })).toEqual([COUNT]);
    expect(preferred({ InstancePreferences: each, InstanceCount: 2 })).toEqual([COUNT]);
    expect(preferred({ InstancePreferences: some })).toEqual([COUNT]);
  });

  test('exclude a type, groups, placement and Spot', () => {
    const config = { ...groups(1), ...first, InstancePreferences: [first, second], InstanceCount: 1 };
    const spot = spotRequest({ ResourceConfig: { ...config, InstancePlacementConfig: {} } });
    expect(rules(spot)).toEqual([
      'InstanceType cannot be specified with InstancePreferences',
      'InstanceGroups cannot be specified with InstancePreferences',
      'InstancePlacementConfig cannot be specified with InstancePreferences',
      'EnableManagedSpotTraining cannot be set to true with InstancePreferences',
    ]);
  });

  test('name each type once, and select none themselves', () => {
    const config = { InstancePreferences: [first, first], InstanceCount: 1, SelectedInstanceCount: 1 };
    expect(preferred(config)).toEqual([
      'SelectedInstanceCount is read-only: remove it from ResourceConfig',
      "InstancePreferences names 'ml.g5.xlarge' more than once",
    ]);
  });
});

test('what cannot be run here is refused', () => {
  const fileSystem = {
    FileSystemId: 'fs-0123456789abcdef0',
    FileSystemAccessMode: 'ro',
    FileSystemType: 'FSxLustre',
    DirectoryPath: '/1234abcd',
  } as const;
  const request = plainRequest({
    InputDataConfig: [
      { ChannelName: 'fsx', DataSource: { FileSystemDataSource: fileSystem } },
      { ...channel('records'), InputMode: 'Pipe', CompressionType: 'Gzip', RecordWrapperType: 'RecordIO' },
    ],
  });
  expect(rules(request)).toEqual([
    "Channel 'fsx': the local SageMaker serves no file systems",
    "Channel 'records': the local SageMaker serves no Gzip",
    "Channel 'records': the local SageMaker serves no RecordIO",
  ]);
});
