/** Drops into a region with the clock on the wall, and what SageMaker saw of them. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import {
  DescribeTrainingJobCommand,
  ListTrainingJobsCommand,
  type TrainingJobSummary,
} from '@aws-sdk/client-sagemaker';
import { type ApiClient, apiClient } from '@tidewheel/emulators/region/api-client.ts';
import type { Region } from '@tidewheel/emulators/region/region.ts';
import { defaultVpc } from '@tidewheel/emulators/region/subnets.ts';
import { stringify } from 'yaml';
import { bucketKeys, runIdOf } from '../../functions/core/shared/keys.ts';
import { until } from './until.ts';

const PIPELINE = 'latency';
/** The settle window of this benchmark. */
export const QUIET_SECONDS = 4;
const UPLOADERS = 32;

export interface Round {
  readonly runId: string;
  /** From the answer to the last PUT to the training request, without the settle window. */
  readonly arrivalSeconds: number;
  /** From the end of the interrupted job, which has saved, to the next request. */
  readonly interruptionSeconds: number;
}

/** Declares a pipeline whose script counts for twenty seconds and saves every two. */
export async function declare(region: Region): Promise<void> {
  const { clients, stack } = region;
  const script = await readFile(join(import.meta.dirname, 'train.py'));
  const Key = `${bucketKeys.source(PIPELINE)}train.py`;
  await clients.s3.send(new PutObjectCommand({ Bucket: stack.bucket, Key, Body: script }));
  const { status, body } = await apiClient(region).call(
    'PUT',
    `/pipelines/${PIPELINE}`,
    stringify({
      name: PIPELINE,
      settle: { quietSeconds: QUIET_SECONDS },
      packing: { label: 'none' },
      training: { strategy: 'single' },
      compute: {
        instanceTypes: ['c5.xlarge', 'c6i.xlarge', 'm5.xlarge'],
        nodes: 1,
        purchaseOption: 'spot',
        vpc: await defaultVpc(clients.ec2),
      },
      limits: { deadlineHours: 2 },
    }),
  );
  if (status !== 200) throw new Error(`the pipeline was refused: ${JSON.stringify(body)}`);
}

/** One drop of `files` files of 1 KB, its interruption and its end. */
export async function playRound(region: Region, round: number, files: number): Promise<Round> {
  const lastPutMilliseconds = await drop(region, round, files);
  const runId = runIdOf(PIPELINE, round);
  const api = apiClient(region);
  await until(`${runId} to end`, async () => ((await isOver(api, runId)) ? true : undefined));
  const [first, second] = await jobsOf(region, runId);
  if (first?.CreationTime === undefined) throw new Error(`${runId} requested no training`);
  if (second?.CreationTime === undefined) throw new Error(`${runId} was not interrupted`);
  const ended = await region.clients.sageMaker.send(
    new DescribeTrainingJobCommand({ TrainingJobName: first.TrainingJobName }),
  );
  const endedMilliseconds = ended.TrainingEndTime?.getTime() ?? Number.NaN;
  return {
    runId,
    arrivalSeconds: (first.CreationTime.getTime() - lastPutMilliseconds) / 1_000 - QUIET_SECONDS,
    interruptionSeconds: (second.CreationTime.getTime() - endedMilliseconds) / 1_000,
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

async function isOver(api: ApiClient, runId: string): Promise<boolean> {
  const { body } = await api.call('GET', `/runs/${runId}`);
  const text = JSON.stringify(body);
  if (/"status":"(failed|empty)"/.test(text)) throw new Error(`${runId} did not succeed: ${text}`);
  return text.includes('"status":"succeeded"');
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
