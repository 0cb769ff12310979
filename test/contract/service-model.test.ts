import trimmedModel from '@tidewheel/emulators/sagemaker/api/service-model.json' with { type: 'json' };
import {
  requestViolations,
  type ServiceModel,
  type Violation,
  wholeMatch,
} from '@tidewheel/emulators/sagemaker/api/service-model.ts';
import { describe, expect, it } from 'vitest';
import { buildTrainingJob } from '../../functions/launch/sagemaker/training-job.ts';
import { launch } from '../support/builders/launch.ts';
import { loadModel } from './botocore.ts';

const sagemaker = loadModel('sagemaker/2017-07-24');
const job = buildTrainingJob(launch());
if (job.kind !== 'request') throw new Error('the fixture is wrong');

type Json = Record<string, unknown>;
/** The good request with one mistake in it. */
function seeded(change: (request: Json) => void): Violation[] {
  const request = structuredClone(job.kind === 'request' ? job.request : {}) as unknown as Json;
  change(request);
  return requestViolations(sagemaker, 'CreateTrainingJob', request);
}
const inside = (request: Json, ...path: string[]): Json =>
  path.reduce<Json>((value, name) => value[name] as Json, request);

describe('the check against the service model', () => {
  it('finds nothing in a good request', () => {
    expect(seeded(() => undefined)).toEqual([]);
  });

  const mistakes: [string, Violation['rule'], string, (request: Json) => void][] = [
    ['a missing field', 'required', 'roleArn', (r) => delete r['RoleArn']],
    [
      'a missing nested field',
      'required',
      'checkpointConfig.s3Uri',
      (r) => delete inside(r, 'CheckpointConfig')['S3Uri'],
    ],
    ['a field that there is not', 'unknown', 'enableSpot', (r) => (r['EnableSpot'] = true)],
    ['a name that an object inherits', 'unknown', 'toString', (r) => (r['toString'] = 'x')],
    [
      'a number as text',
      'type',
      'resourceConfig.instanceCount',
      (r) => (inside(r, 'ResourceConfig')['InstanceCount'] = '2'),
    ],
    [
      'half an instance',
      'type',
      'resourceConfig.instanceCount',
      (r) => (inside(r, 'ResourceConfig')['InstanceCount'] = 1.5),
    ],
    ['a list as a map', 'type', 'tags', (r) => (r['Tags'] = { a: 'b' })],
    ['null for left out', 'type', 'vpcConfig', (r) => (r['VpcConfig'] = null)],
    ['an empty list', 'min', 'inputDataConfig', (r) => (r['InputDataConfig'] = [])],
    [
      'a zero limit',
      'min',
      'stoppingCondition.maxRuntimeInSeconds',
      (r) => (r['StoppingCondition'] = { MaxRuntimeInSeconds: 0 }),
    ],
    ['a long name', 'max', 'trainingJobName', (r) => (r['TrainingJobName'] = 'a'.repeat(64))],
    [
      'a long value',
      'max',
      'hyperParameters.x.member',
      (r) => (inside(r, 'HyperParameters')['x'] = 'a'.repeat(2_501)),
    ],
    [
      'too many tags',
      'max',
      'tags',
      (r) => (r['Tags'] = Array.from({ length: 51 }, (_, i) => ({ Key: `k${i}`, Value: '' }))),
    ],
    ['an underscore in a name', 'pattern', 'trainingJobName', (r) => (r['TrainingJobName'] = 'a_b')],
    ['a hyphen at the end', 'pattern', 'trainingJobName', (r) => (r['TrainingJobName'] = 'ab-')],
    [
      'a newline in a value',
      'pattern',
      'hyperParameters.x.member',
      (r) => (inside(r, 'HyperParameters')['x'] = 'a\nb'),
    ],
    ['a variable with a dash', 'pattern', 'environment.key', (r) => (r['Environment'] = { 'A-B': '1' })],
    [
      'a tag with a comma',
      'pattern',
      'tags.1.member.value',
      (r) => (r['Tags'] = [{ Key: 'a', Value: 'b,c' }]),
    ],
    [
      'an EC2 type',
      'enum',
      'resourceConfig.instanceType',
      (r) => (inside(r, 'ResourceConfig')['InstanceType'] = 'g5.xlarge'),
    ],
    [
      'a mode in lower case',
      'enum',
      'algorithmSpecification.trainingInputMode',
      (r) => (inside(r, 'AlgorithmSpecification')['TrainingInputMode'] = 'file'),
    ],
  ];
  it.each(mistakes)('finds %s', (_, rule, path, change) => {
    expect(
      seeded(change).map((violation) => ({ rule: violation.rule, path: violation.path })),
    ).toContainEqual({ rule, path });
  });

  it('takes letters of any script where the API does', () => {
    expect(seeded((r) => (r['Tags'] = [{ Key: 'équipe', Value: '训练 + x@y' }]))).toEqual([]);
  });

  it('compiles every pattern of the training jobs’ requests', () => {
    const { shapes }: ServiceModel = trimmedModel;
    const patterns = Object.values(shapes).flatMap(({ pattern }) => pattern ?? []);
    expect(patterns.length).toBeGreaterThan(30);
    const broken = patterns.filter((pattern) => {
      try {
        wholeMatch(pattern);
        return false;
      } catch {
        return true;
      }
    });
    expect(broken).toEqual([]);
  });
});
