import { _InstanceType } from '@aws-sdk/client-ec2';
import { TrainingInstanceType } from '@aws-sdk/client-sagemaker';
import { EC2_TYPES, TRAINING_TYPES } from '@tidewheel/declaration/instance-types.ts';
import { requestViolations } from '@tidewheel/emulators/sagemaker/api/service-model.ts';
import { describe, expect, it } from 'vitest';
import type { CreateTrainingJobRequest } from '../../functions/launch/job/request.ts';
import { requestProblems } from '../../functions/launch/sagemaker/request-problems.ts';
import { withPreferences } from '../../functions/launch/sagemaker/training-job.ts';
import { declaration, launch, placement, requestOf } from '../support/builders/launch.ts';
import { loadModel } from './botocore.ts';
import { CONFIGURATIONS } from './configurations.ts';
import { broken } from './request-rules.ts';

const sagemaker = loadModel('sagemaker/2017-07-24');

describe('every request that a launch makes', () => {
  it('is tried in forty configurations at least, all different', () => {
    const bodies = new Set(CONFIGURATIONS.map(([, input]) => JSON.stringify(requestOf(input))));
    expect(bodies.size).toBe(CONFIGURATIONS.length);
    expect(bodies.size).toBeGreaterThanOrEqual(40);
  });

  it.each(CONFIGURATIONS)('is valid for %s', (_, input) => {
    const request = requestOf(input);
    expect(requestViolations(sagemaker, 'CreateTrainingJob', request)).toEqual([]);
    expect(broken(request)).toEqual([]);
  });
});

describe('a request that names several types', () => {
  const of = (first: string, ...others: readonly string[]) =>
    launch({
      declaration: declaration({ compute: { instanceTypes: [first, ...others] } }),
      placement: placement({
        pool: { instanceType: first, launcher: 'sagemaker', purchaseOption: 'on-demand' },
        alternatives: others.map((instanceType) => ({ instanceType, onDemandHourlyUsd: 2 })),
        maximumWaitSeconds: undefined,
      }),
    });

  it.each([
    [['g5.xlarge', 'g5.2xlarge', 'g6.xlarge', 'g6e.xlarge', 'g5.4xlarge']],
    [['m5.xlarge', 'c5.2xlarge']],
  ])('is valid for %s', ([first = '', ...others]) => {
    const input = of(first, ...others);
    const several = withPreferences(input, requestOf(input));
    expect(requestViolations(sagemaker, 'CreateTrainingJob', several)).toEqual([]);
    expect(several && broken(several)).toEqual([]);
    expect(several?.ResourceConfig).toMatchObject({
      InstancePreferences: [first, ...others].map((type) => ({ InstanceType: `ml.${type}` })),
      InstanceCount: 2,
    });
  });

  it('leaves out a type of another disk or image', () => {
    const input = of('g5.xlarge', 'p3.2xlarge', 'm5.xlarge');
    expect(withPreferences(input, requestOf(input))).toBeUndefined();
  });
});

const s3Of = ({ DataSource: { S3DataSource } }: CreateTrainingJobRequest['InputDataConfig'][number]) => {
  if (S3DataSource === undefined) throw new Error('the fixture has a channel that is not in S3');
  return S3DataSource;
};

const group = (name: string) =>
  ({ InstanceGroupName: name, InstanceType: 'ml.g5.xlarge', InstanceCount: 1 }) as const;

describe('the rules between fields', () => {
  const good = requestOf(launch());
  const [first, ...others] = good.InputDataConfig;
  if (first === undefined) throw new Error('the fixture has no channel');
  const routed = {
    ...first,
    DataSource: { S3DataSource: { ...s3Of(first), InstanceGroupNames: ['gpu'] } },
  };

  const mistakes: [string, RegExp, Partial<CreateTrainingJobRequest>][] = [
    ['Spot without a wait limit', /wait limit/, { StoppingCondition: { MaxRuntimeInSeconds: 60 } }],
    [
      'a wait below the run time',
      /wait limit/,
      { StoppingCondition: { MaxRuntimeInSeconds: 60, MaxWaitTimeInSeconds: 59 } },
    ],
    ['a wait limit on demand', /wait limit/, { EnableManagedSpotTraining: false }],
    [
      'a run of 29 days',
      /28 days/,
      { StoppingCondition: { MaxRuntimeInSeconds: 29 * 86_400, MaxWaitTimeInSeconds: 29 * 86_400 } },
    ],
    [
      'groups beside a type',
      /never both/,
      { ResourceConfig: { ...good.ResourceConfig, InstanceGroups: [group('gpu')] } },
    ],
    [
      'preferences on Spot',
      /on demand/,
      {
        ResourceConfig: {
          InstancePreferences: [{ InstanceType: 'ml.g5.xlarge' }, { InstanceType: 'ml.g6.xlarge' }],
          InstanceCount: 1,
        },
      },
    ],
    [
      'preferences beside a type',
      /never both/,
      {
        EnableManagedSpotTraining: false,
        ResourceConfig: { ...good.ResourceConfig, InstancePreferences: [{ InstanceType: 'ml.g6.xlarge' }] },
      },
    ],
    [
      'six groups',
      /at most five/,
      { ResourceConfig: { InstanceGroups: ['a', 'b', 'c', 'd', 'e', 'f'].map(group) } },
    ],
    [
      'two groups of one name',
      /different names/,
      { ResourceConfig: { InstanceGroups: ['a', 'a'].map(group) } },
    ],
    [
      'a channel of a group among others',
      /all channels/,
      { ResourceConfig: { InstanceGroups: [group('gpu')] }, InputDataConfig: [routed, ...others] },
    ],
    ['a channel of an unknown group', /all channels/, { InputDataConfig: [routed] }],
  ];

  it.each(mistakes)('see %s', (_, rule, change) => {
    expect(broken({ ...good, ...change }).join('; ')).toMatch(rule);
  });

  it('find nothing wrong with a good request', () => {
    expect(broken(good)).toEqual([]);
    expect(requestProblems(good)).toEqual([]);
  });

  it('have the launch itself refuse too many channels', () => {
    const many = Array.from({ length: 21 }, () => first);
    expect(requestProblems({ ...good, InputDataConfig: many })).toMatchObject([{ path: 'channels' }]);
  });
});

describe('the table of EC2 types', () => {
  it('holds exactly the types of the SDK', () => {
    expect([...EC2_TYPES].toSorted()).toEqual(Object.values(_InstanceType).toSorted());
  });
});

describe('the table of training types', () => {
  it("holds exactly the types of the API's model", () => {
    const theirs = sagemaker.shapes['TrainingInstanceType']?.enum ?? [];
    expect([...TRAINING_TYPES].toSorted()).toEqual(theirs.toSorted());
  });

  it('holds every type of the SDK', () => {
    const ours: ReadonlySet<string> = new Set(TRAINING_TYPES);
    expect(Object.values(TrainingInstanceType).filter((type) => !ours.has(type))).toEqual([]);
  });
});
