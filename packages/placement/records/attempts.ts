/**
 * What placement reads of a run and its attempts. The service's records are made of these parts; times are ISO 8601 in
 * UTC, durations are seconds, and money is USD.
 */

import { launcherFacts } from '@tidewheel/catalog/launchers.ts';
import { progressUnit, savedCheckpoint } from '@tidewheel/contract/progress.ts';
import type { LauncherName } from '@tidewheel/declaration/launchers.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { HostReading } from '@tidewheel/doctor/verdict.ts';
import { seconds, time } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import type { Miss, Placement } from './placement-records.ts';

/** Work that a checkpoint proves. The agent writes it and the service judges by it. */
export const provenSchema = z.object({
  step: z.number(),
  totalSteps: z.number().describe('0 where the script does not say.'),
  /** saves: the position is unknown. */
  unit: progressUnit.optional().describe('What the step counts; absent: step.'),
  checkpoint: z.string().describe('Name, below the checkpoints of the run.'),
  /** If its marker lists its files. */
  checkpointBytes: z.number().optional(),
  trainingSeconds: seconds.optional().describe('Of all attempts, at the time of the checkpoint.'),
  saveSeconds: seconds.optional().describe('How long the last save held up training.'),
  ...savedCheckpoint.pick({ usage: true, pace: true, metrics: true }).shape,
  /** whole: its content proves it. */
  proof: z.enum(['whole', 'quiet']).optional().describe('quiet: of a format that the agent does not know.'),
  /** How its objects in the bucket were compared with the host's files; absent where the note lists none. */
  comparedBy: z.enum(['checksums', 'sizes']).optional(),
  updatedAt: time.describe('When it was saved.'),
});
export type Progress = Readonly<z.output<typeof provenSchema>>;

/**
 * capacity: its pool has none; budget: it would exceed the budget; deadline: it is too slow to stay on Spot; spot: Spot is
 * expected to be cheaper than its pool; reservation: its reservation ends, or another one has or will have room; time: its end was not reported within its time limit; request: a person stops
 * the run. `why` completes the sentence "attempt 2 ...".
 */
export const stopReasonSchema = z.object({
  cause: z.enum(['capacity', 'budget', 'deadline', 'spot', 'reservation', 'time', 'request']),
  why: z.string(),
});

/** Why to recall an attempt, or undefined to leave it alone. */
export type StopReason = Readonly<z.output<typeof stopReasonSchema>> | undefined;

/** What the last start took: waiting for hosts and preparing them, then the download of shards, then that of the image. */
export const startUpSchema = z
  .object({ hosts: seconds, download: seconds, image: seconds })
  .describe('From the launch to the start of the script.');
export type StartUp = z.output<typeof startUpSchema>;

/**
 * silent: launched hosts wrote no report; storage: S3 could not be reached, or refused; disk: a host's disk is full;
 * memory: a host's memory was too small; packages: the package index did not answer; image: the container image or the
 * host's could not be fetched; network: a file system could not be mounted; hardware: a host was broken; refused: AWS
 * ends or does not start the job, for no reason that is known here.
 */
const platformFault = z.enum([
  'silent',
  'storage',
  'disk',
  'memory',
  'packages',
  'image',
  'network',
  'hardware',
  'refused',
]);
export type PlatformFault = z.output<typeof platformFault>;

/** The outcome of an ended job, from DescribeTrainingJob. */
export const outcomeSchema = z.object({
  kind: z.enum([
    'completed',
    'interrupted',
    'capacity',
    'timeLimit',
    'serviceError',
    'userError',
    'recalled',
    'stopped',
  ]),
  message: z.string(),
  startedAt: time.optional(),
  /** After the download of shards and image. */
  scriptStartedAt: time.optional(),
  startUp: startUpSchema.optional(),
  /** It held instances. */
  endedBeforeScript: z.literal(true).optional(),
  endedAt: time.optional(),
  trainingSeconds: seconds,
  billableSeconds: seconds,
  /** With kind `capacity`: the error was a quota of the account, which holds in every zone. */
  quota: z.literal(true).optional(),
  /** With kind `serviceError`: the part of the platform that failed, where it is known. */
  fault: platformFault.optional(),
  /** Restarts in place by managed Spot inside the job. */
  interruptions: z.number().int(),
  modelUri: z.string().optional(),
});
export type AttemptOutcome = Readonly<z.output<typeof outcomeSchema>>;

/** The furthest proven progress of any attempt. */
export const furthestProgress = (
  attempts: readonly Pick<PlacedAttempt, 'progressAfter'>[],
): Progress | undefined =>
  attempts
    .flatMap(({ progressAfter }) => (progressAfter ? [progressAfter] : []))
    .reduce<Progress | undefined>((best, each) => (best && best.step >= each.step ? best : each), undefined);

/** One attempt of a run, as placement sees it. */
export interface PlacedAttempt {
  readonly runId: string;
  readonly attempt: number;
  readonly launcher: LauncherName;
  readonly placement: Placement;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly progressBefore?: Progress | undefined;
  readonly progressAfter?: Progress | undefined;
  /** Absent while it goes on. */
  readonly outcome?: AttemptOutcome | undefined;
  readonly diagnosis?: { readonly reading?: HostReading | undefined } | undefined;
}

/** A run, as placement sees it. */
export interface PlacedRun {
  readonly runId: string;
  readonly pipeline: string;
  readonly status: string;
  readonly declaration?: Pipeline | undefined;
  readonly createdAt: string;
  readonly closedAt?: string | undefined;
  readonly sealedAt?: string | undefined;
  readonly result?: { readonly misses?: readonly Miss[] | undefined } | undefined;
  /** The last time that a person had it go on. */
  readonly retry?: { readonly at: string; readonly attempts: number } | undefined;
}

/** Earlier runs of the pipeline, and what their attempts measured. */
export interface FormerRuns {
  readonly runs: { list(pipeline: string, limit: number): Promise<readonly PlacedRun[]> };
  readonly attempts: { list(runId: string): Promise<readonly PlacedAttempt[]> };
}

/**
 * SageMaker states BillableTimeInSeconds after the Spot discount, so the On-Demand rate applies to it.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/model-managed-spot-training.html
 */
export function attemptCost(attempt: PlacedAttempt): number {
  const { pool, helpersHourlyUsd = 0, transfer } = attempt.placement;
  const seconds = attempt.outcome?.billableSeconds ?? 0;
  // Reserved nodes have been paid for, whether they are used or not; helpers never are reserved.
  const hoursUsd =
    pool.purchaseOption === 'reserved' ? (helpersHourlyUsd * seconds) / 3_600 : hoursCost(attempt, seconds);
  // The copy to another region precedes the job and is paid for whatever its outcome.
  return hoursUsd + (transfer?.usd ?? 0) + fileSystemsCost(attempt);
}

export const hoursCost = ({ placement }: PlacedAttempt, seconds: number): number =>
  (seconds / 3600) *
  (placement.onDemandHourlyUsd * placement.topology.nodes + (placement.helpersHourlyUsd ?? 0));

/** File systems are paid for as long as they are there, so the whole life of the attempt counts, waits included. */
export function fileSystemsCost({ placement, createdAt, outcome }: PlacedAttempt): number {
  if (outcome === undefined) return 0;
  const lived = (Date.parse(outcome.endedAt ?? '') - Date.parse(createdAt)) / 1_000;
  return fileSystemsUsd(placement, lived >= 0 ? lived : outcome.trainingSeconds);
}

export const fileSystemsUsd = (
  { fileSystemsHourlyUsd = 0 }: Pick<Placement, 'fileSystemsHourlyUsd'>,
  seconds: number,
): number => (fileSystemsHourlyUsd * seconds) / 3_600;

/** What an attempt's start took. */
export type AttemptStart = ReturnType<typeof startsOf>[number];

export const startsOf = (attempts: readonly PlacedAttempt[]) =>
  attempts.map((attempt) => {
    const { launcher, placement, progressBefore, createdAt, outcome } = attempt;
    const waited = (Date.parse(outcome?.startedAt ?? '') - Date.parse(createdAt)) / 1_000;
    return {
      launcher,
      placement: { pool: placement.pool, topology: placement.topology },
      isResumed: progressBefore !== undefined,
      /** The part of its training that no checkpoint proves, with the download; absent where it proved no new work. */
      unprovenSeconds: unprovenSeconds(attempt),
      /** From the request to the start of billing. */
      provisioningSeconds: waited >= 0 ? waited : undefined,
    };
  });

/** After its last checkpoint a completed attempt trained to the end: this is no part of a start. */
function unprovenSeconds(attempt: PlacedAttempt): number | undefined {
  const { launcher, outcome, progressBefore, progressAfter } = attempt;
  const before = progressBefore?.trainingSeconds ?? 0;
  const proven = (progressAfter?.trainingSeconds ?? before) - before;
  if (outcome === undefined || outcome.trainingSeconds <= 0 || proven <= 0) return undefined;
  const unproven = outcome.trainingSeconds - proven;
  if (outcome.kind !== 'completed') return unproven;
  const start = (Date.parse(outcome.scriptStartedAt ?? '') - Date.parse(outcome.startedAt ?? '')) / 1_000;
  return start >= 0 ? Math.min(unproven, Math.max(start, launcherFacts[launcher].restartSeconds)) : undefined;
}
