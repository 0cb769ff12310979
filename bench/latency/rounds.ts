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
import type { Region } from '@tidewheel/emulators/region/region.ts';
import * as z from 'zod';
import { declareCounting } from '../counting-pipeline.ts';

const PIPELINE = 'latency';
/** The settle window of this benchmark. */
export const QUIET_SECONDS = 4;
const UPLOADERS = 32;

export interface Round {
  readonly runId: string;
  /** From the answer to the last PUT to the training request, without the settle window. */
  readonly arrivalSeconds: number;
  /** Of these, until the batch was closed, then until its generation was sealed. */
  readonly settledSeconds: number;
  readonly sealedSeconds: number;
  /** From the end of the interrupted job, which has saved, to the next request. */
  readonly interruptionSeconds: number;
}

/** Its training lasts long enough to be interrupted. */
export const declare = (region: Region): Promise<void> =>
  declareCounting(region, {
    name: PIPELINE,
    quietSeconds: QUIET_SECONDS,
    steps: 20,
    stepsBetweenSaves: 2,
  });

/** One drop of `files` files of 1 KB, its interruption and its end. */
export async function playRound(region: Region, round: number, files: number): Promise<Round> {
  const lastPutMilliseconds = await drop(region, round, files);
  const runId = runIdOf(PIPELINE, round);
  const api = apiClient(region);
  const timeline = await until(`${runId} to end`, () => timelineAtEnd(api, runId));
  const at = (kind: string): number =>
    Date.parse(timeline.find((event) => event.kind === kind)?.at ?? 'never');
  const [first, second] = await jobsOf(region, runId);
  if (first?.CreationTime === undefined) throw new Error(`${runId} requested no training`);
  if (second?.CreationTime === undefined) throw new Error(`${runId} was not interrupted`);
  const ended = await region.clients.sageMaker.send(
    new DescribeTrainingJobCommand({ TrainingJobName: first.TrainingJobName }),
  );
  const endedMilliseconds = ended.TrainingEndTime?.getTime() ?? Number.NaN;
  return {
    runId,
    arrivalSeconds: seconds(lastPutMilliseconds, first.CreationTime.getTime()) - QUIET_SECONDS,
    settledSeconds: seconds(lastPutMilliseconds, at('Settled')) - QUIET_SECONDS,
    sealedSeconds: seconds(at('Settled'), at('DatasetSealed')),
    interruptionSeconds: seconds(endedMilliseconds, second.CreationTime.getTime()),
  };
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
