/** Records that are right, to be varied by tests. */

import { runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import { type Pipeline, pipelineSchema } from '@tidewheel/declaration/pipeline.ts';
import type { AttemptOutcome, Placement, Progress, StoredDecision } from '@tidewheel/placement/records.ts';
import type { Model } from '../../../functions/records/models.ts';
import type { AttemptRecord, RunRecord, RunRequest } from '../../../functions/records/run-records.ts';

export const AT = '2026-11-20T00:00:00.000Z';

export const secondsAfter = (seconds: number, at = AT): string =>
  new Date(Date.parse(at) + seconds * 1_000).toISOString();

type Raw = Readonly<Record<string, unknown>>;

/** Through the real schema, so that a fixture cannot be something that no user could declare. */
export const declarationOf = (name: string, over: Raw = {}): Pipeline =>
  pipelineSchema.parse({
    name,
    training: { strategy: 'ddp' },
    compute: { instanceTypes: ['g5.xlarge'], nodes: 2 },
    ...over,
  });

export const runOf = (pipeline: string, batch: number, over: Partial<RunRecord> = {}): RunRecord => ({
  runId: `${pipeline}-${String(batch).padStart(6, '0')}`,
  pipeline,
  batch,
  status: 'settling',
  trigger: 'arrival',
  execution: 1,
  createdAt: AT,
  updatedAt: AT,
  ...over,
});

/** Of a person, who wants the run as it is declared. */
export const requestOf = (over: Partial<RunRequest> = {}): RunRequest => ({
  at: AT,
  requestedBy: 'arn:aws:iam::123456789012:user/ada',
  tokens: [],
  changed: [],
  ...over,
});

export const placementOf = (over: Partial<Placement> = {}): Placement => ({
  pool: { instanceType: 'g5.xlarge', zoneId: 'use1-az4', launcher: 'sagemaker', purchaseOption: 'spot' },
  topology: { nodes: 2, acceleratorsPerNode: 1 },
  onDemandHourlyUsd: 1.5,
  maximumRunSeconds: 3_600,
  maximumWaitSeconds: 7_200,
  reason: 'cheapest',
  considered: [
    {
      pool: { instanceType: 'g5.xlarge', zoneId: 'use1-az4', launcher: 'sagemaker', purchaseOption: 'spot' },
      topology: { nodes: 2, acceleratorsPerNode: 1 },
      hourlyUsd: 0.6,
      expectedCostUsd: 1.2,
      expectedSeconds: 3_600,
      verdict: 'chosen',
    },
  ],
  decidedAt: AT,
  ...over,
});

/** As `place` stores it, for tests that never put its question again. */
export const launchOf = (over: Partial<Placement> = {}): StoredDecision => ({
  kind: 'launch',
  placement: placementOf(over),
  question: { version: 1 },
});

export const waitOf = (): StoredDecision => ({
  kind: 'wait',
  seconds: 60,
  reason: 'no capacity',
  considered: [],
  question: { version: 1 },
});

export const attemptOf = (
  runId: string,
  attempt: number,
  over: Partial<AttemptRecord> = {},
): AttemptRecord => ({
  runId,
  pipeline: runId.slice(0, runId.lastIndexOf('-')),
  attempt,
  jobName: `${runId}-a${attempt}-0a1b2c`,
  placement: placementOf(),
  launcher: (over.placement ?? placementOf()).pool.launcher,
  status: 'starting',
  createdAt: AT,
  updatedAt: AT,
  ...over,
});

export const outcomeOf = (
  kind: AttemptOutcome['kind'],
  over: Partial<AttemptOutcome> = {},
): AttemptOutcome => ({
  kind,
  message: `${kind}, said the service`,
  trainingSeconds: 0,
  billableSeconds: 0,
  interruptions: 0,
  ...over,
});

export const progressOf = (step: number, over: Partial<Progress> = {}): Progress => ({
  step,
  totalSteps: 100,
  checkpoint: `step-${step}`,
  updatedAt: AT,
  ...over,
});

export const modelOf = (batch: number, state: Model['state'], over: Partial<Model> = {}): Model => {
  const runId = runIdOf('digits', batch);
  const uri = `s3://data/digits/runs/${runId}/models/model.tar.gz`;
  return {
    runId,
    uri,
    bytes: 7,
    state,
    number: batch,
    at: secondsAfter(batch),
    by: runId,
    reason: 'x',
    ...over,
  };
};
