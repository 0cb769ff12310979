/** Drops into a region with the clock on the wall, and what SageMaker saw of them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import {
  DescribeTrainingJobCommand,
  ListTrainingJobsCommand,
  type TrainingJobSummary,
} from '@aws-sdk/client-sagemaker';
import { bucketKeys, runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import { type ApiClient, apiClient } from '@tidewheel/emulators/region/api-client.ts';
import type { ControlClient } from '@tidewheel/emulators/region/control-client.ts';
import type { Region } from '@tidewheel/emulators/region/region.ts';
import * as z from 'zod';
import { declareCounting } from '../counting-pipeline.ts';

const PIPELINE = 'latency';
/** The settle window of this benchmark. */
export const QUIET_SECONDS = 4;
export const MOST_KILL_SECONDS = 4;
const UPLOADERS = 32;
const STEPS_BETWEEN_SAVES = 2;

export interface Round {
  readonly runId: string;
  /** From the answer to the last PUT to the training request, without the settle window. */
  readonly arrivalSeconds: number;
  /** Of these, until the batch was closed, then until its generation was sealed. */
  readonly settledSeconds: number;
  readonly sealedSeconds: number;
  /** From the end of the interrupted job, which has saved, to the next request. */
  readonly interruptionSeconds: number;
  /** From kill -9 of the next job's host to the first new step. */
  readonly killSeconds: number;
  /** Seconds of these until the job had ended, was requested elsewhere, and had its host. */
  readonly noticedSeconds: number;
  readonly placedSeconds: number;
  readonly hostSeconds: number;
}

/** 1 if a round took too long after the kill, or its seconds are not known. */
export const exitCodeOf = (rounds: readonly Pick<Round, 'killSeconds'>[]): 0 | 1 =>
  rounds.every(({ killSeconds }) => killSeconds <= MOST_KILL_SECONDS) ? 0 : 1;

/** Its training lasts long enough to be interrupted, and killed. */
export const declare = (region: Region): Promise<void> =>
  declareCounting(region, {
    name: PIPELINE,
    quietSeconds: QUIET_SECONDS,
    steps: 30,
    stepsBetweenSaves: STEPS_BETWEEN_SAVES,
  });

/** One drop of `files` files of 1 KB, its interruption, a kill, and its end. */
export async function playRound(
  region: Region,
  control: ControlClient,
  round: number,
  files: number,
): Promise<Round> {
  const lastPutMilliseconds = await drop(region, round, files);
  const runId = runIdOf(PIPELINE, round);
  const api = apiClient(region);
  const killed = await kill(region, control, api, runId);
  const timeline = await until(`${runId} to end`, () => timelineAtEnd(api, runId));
  const at = (kind: string): number =>
    Date.parse(timeline.find((event) => event.kind === kind)?.at ?? 'never');
  const [first, second, third] = await jobsOf(region, runId);
  if (first?.CreationTime === undefined) throw new Error(`${runId} requested no training`);
  if (second?.CreationTime === undefined) throw new Error(`${runId} was not interrupted`);
  const described = (job: TrainingJobSummary | undefined) =>
    region.clients.sageMaker.send(new DescribeTrainingJobCommand({ TrainingJobName: job?.TrainingJobName }));
  const [ended, lost, last] = [await described(first), await described(second), await described(third)];
  return {
    runId,
    arrivalSeconds: seconds(lastPutMilliseconds, first.CreationTime.getTime()) - QUIET_SECONDS,
    settledSeconds: seconds(lastPutMilliseconds, at('Settled')) - QUIET_SECONDS,
    sealedSeconds: seconds(at('Settled'), at('DatasetSealed')),
    interruptionSeconds: between(ended.TrainingEndTime, second.CreationTime),
    killSeconds: seconds(killed.atMilliseconds, killed.steppedMilliseconds),
    noticedSeconds: between(new Date(killed.atMilliseconds), lost.TrainingEndTime),
    placedSeconds: between(lost.TrainingEndTime, last.CreationTime),
    hostSeconds: between(last.CreationTime, last.TrainingStartTime),
  };
}

const between = (from: Date | undefined, to: Date | undefined): number =>
  seconds(from?.getTime() ?? Number.NaN, to?.getTime() ?? Number.NaN);

/** Kills the host of the second job once that has saved; a step takes a second, and the save follows the last. */
async function kill(region: Region, control: ControlClient, api: ApiClient, runId: string) {
  const saved = await until(`${runId} to save again`, async () => {
    const [, second] = await jobsOf(region, runId);
    const progress = await progressOf(api, runId);
    const since = second?.CreationTime?.getTime() ?? Number.POSITIVE_INFINITY;
    return progress !== undefined && Date.parse(progress.updatedAt) > since ? progress : undefined;
  });
  const atMilliseconds = Date.now();
  await control.strike({ run: runId, kill: true, host: undefined });
  const next = await until(`${runId} to go on`, async () => {
    const progress = await progressOf(api, runId);
    const isNew =
      progress !== undefined &&
      progress.step > saved.step &&
      Date.parse(progress.updatedAt) > atMilliseconds &&
      (await jobsOf(region, runId)).length > 2;
    return isNew ? progress : undefined;
  });
  const steppedMilliseconds = Date.parse(next.updatedAt) - 1_000 * (STEPS_BETWEEN_SAVES - 1);
  return { atMilliseconds, steppedMilliseconds };
}

const progressSchema = z.object({
  progress: z.object({ step: z.number(), updatedAt: z.string() }).optional(),
});

async function progressOf(api: ApiClient, runId: string) {
  const reply = await api.call('GET', `/runs/${runId}`);
  return reply.status === 200 ? progressSchema.parse(reply.body).progress : undefined;
}

/** @returns when the last PUT was answered */
async function drop({ clients, stack }: Region, round: number, files: number): Promise<number> {
  const body = Buffer.alloc(1_000, `${round}`);
  const queue = Array.from({ length: files }, (_, file) => file).values();
  const upload = async (): Promise<void> => {
    for (const file of queue) {
      const Key = `${bucketKeys.incoming(PIPELINE)}${round}/${String(file).padStart(6, '0')}.txt`;
      await clients.s3.send(new PutObjectCommand({ Bucket: stack.bucket, Key, Body: body }));
    }
  };
  await Promise.all(Array.from({ length: UPLOADERS }, upload));
  return Date.now();
}

const seconds = (from: number, to: number): number => Math.round(to - from) / 1_000;

const answered = z.object({
  run: z.object({ status: z.string(), failure: z.string().optional() }),
  timeline: z.array(z.object({ kind: z.string(), at: z.string() })),
});

/** Undefined until the run has ended. */
async function timelineAtEnd(api: ApiClient, runId: string) {
  const reply = await api.call('GET', `/runs/${runId}`);
  if (reply.status !== 200) return undefined;
  const { run, timeline } = answered.parse(reply.body);
  if (['failed', 'empty'].includes(run.status))
    throw new Error(`${runId} did not succeed: ${run.failure ?? 'it was empty'}`);
  return run.status === 'succeeded' ? timeline : undefined;
}

async function jobsOf({ clients }: Region, runId: string): Promise<readonly TrainingJobSummary[]> {
  const { TrainingJobSummaries = [] } = await clients.sageMaker.send(
    new ListTrainingJobsCommand({
      NameContains: `${runId}-`,
      SortBy: 'CreationTime',
      SortOrder: 'Ascending',
    }),
  );
  return TrainingJobSummaries;
}

const LIMIT_MILLISECONDS = 300_000;
/** Seldom enough that the questions take no CPU from what is measured. */
const PAUSE_MILLISECONDS = 1_000;

/** Asks until the answer is not undefined. */
async function until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  const end = Date.now() + LIMIT_MILLISECONDS;
  while (Date.now() < end) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await sleep(PAUSE_MILLISECONDS);
  }
  throw new Error(`waited ${LIMIT_MILLISECONDS / 1_000} s for ${what}`);
}
