/** A declaration, a placement and a launch that are right, to be varied by the tests. */

import { type Pipeline, pipelineSchema } from '@tidewheel/declaration/pipeline.ts';
import type { Placement } from '@tidewheel/placement/records.ts';
import type { CreateTrainingJobRequest } from '../../../functions/launch/job/request.ts';
import { buildTrainingJob, type TrainingJobInput } from '../../../functions/launch/sagemaker/training-job.ts';
import { generationAt } from './generations.ts';

type Raw = Record<string, unknown>;

/** Through the real schema, so that a fixture cannot be something that no user could declare. */
export const declaration = (
  over: {
    training?: Raw;
    compute?: Raw;
    packing?: Raw;
    limits?: Raw;
    name?: string;
    owner?: string;
    tags?: Raw;
  } = {},
): Pipeline =>
  pipelineSchema.parse({
    name: over.name ?? 'digits',
    owner: over.owner,
    tags: over.tags,
    ...(over.packing && { packing: over.packing }),
    ...(over.limits && { limits: over.limits }),
    training: { strategy: 'ddp', frameworkVersion: '2.13', ...over.training },
    compute: { instanceTypes: ['g5.xlarge'], nodes: 2, ...over.compute },
  });

export const placement = (over: Partial<Placement> = {}): Placement => ({
  pool: { instanceType: 'g5.xlarge', launcher: 'sagemaker', purchaseOption: 'spot' },
  topology: { nodes: 2, acceleratorsPerNode: 1 },
  onDemandHourlyUsd: 1.408,
  maximumRunSeconds: 3_600,
  maximumWaitSeconds: 7_200,
  reason: 'cheapest',
  considered: [],
  decidedAt: '2026-11-21T04:00:00.000Z',
  ...over,
});

export const launch = (over: Partial<TrainingJobInput> = {}): TrainingJobInput => ({
  runId: 'digits-000001',
  attempt: 1,
  declaration: declaration(),
  placement: placement(),
  bucket: 'tw-data',
  region: 'us-east-1',
  roleArn: 'arn:aws:iam::123456789012:role/tidewheel-training',
  agentPrefix: 'agent/0123abcd/',
  generations: [generationAt('digits/dataset/digits-000001/shards/')],
  checkpointSeconds: 30,
  ...over,
});

export function requestOf(input: TrainingJobInput): CreateTrainingJobRequest {
  const job = buildTrainingJob(input);
  if (job.kind !== 'request') throw new Error(JSON.stringify(job.problems));
  return job.request;
}

/** @returns paths */
export function problemsOf(input: TrainingJobInput): readonly string[] {
  const job = buildTrainingJob(input);
  return job.kind === 'problems' ? job.problems.map(({ path }) => path) : [];
}
