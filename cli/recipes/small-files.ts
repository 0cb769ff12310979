/**
 * The case of many small files, end to end in a local region: the same samples are trained on as they are, and packed
 * first. Every GET, every function and every host is a real process of this machine.
 */

import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { DescribeTrainingJobCommand, ListTrainingJobsCommand } from '@aws-sdk/client-sagemaker';
import { bucketKeys, runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import { apiClient } from '@tidewheel/emulators/region/api-client.ts';
import { type Region, startRegion } from '@tidewheel/emulators/region/region.ts';
import { defaultVpc } from '@tidewheel/emulators/region/subnets.ts';
import { eachLimited } from '@tidewheel/kit/limited.ts';
import { stringify } from 'yaml';
import * as z from 'zod';
import { markdownTable } from './table.ts';

export const SMALL_FILES = ['small-files', 'small-files-packed'] as const;
export type SmallFiles = (typeof SMALL_FILES)[number];
export const isSmallFiles = (name: string): name is SmallFiles => SMALL_FILES.some((each) => each === name);

export interface SmallFilesRow {
  readonly name: SmallFiles;
  /** What the training channel holds. */
  readonly objects: number;
  /** From the end of the settle window to the sealed dataset. */
  readonly packingSeconds: number;
  /** Of the channels, as DescribeTrainingJob tells. */
  readonly downloadSeconds: number;
  readonly stepSeconds: number;
  /** From the end of the settle window to the end of the run. */
  readonly wholeSeconds: number;
}

const FILE_BYTES = 5_000;
const QUIET_SECONDS = 2;
const UPLOADERS = 32;
const CLASSES = 10;
const RUN_SECONDS = 1_200;

export async function measureSmallFiles(
  projectFolder: string,
  names: readonly SmallFiles[],
  files: number,
): Promise<readonly SmallFilesRow[]> {
  const stateDirectory = await mkdtemp(join(tmpdir(), 'tidewheel-small-'));
  const region = await startRegion({
    projectFolder,
    stateDirectory,
    pythonPath: join(projectFolder, '.venv/bin/python'),
    market: { kind: 'calm' },
    usesOtherPorts: true,
    log: () => undefined,
  });
  try {
    const rows: SmallFilesRow[] = [];
    for (const name of names) {
      await declare(region, projectFolder, name);
      rows.push(await train(region, name, files));
    }
    return rows;
  } finally {
    await region.close();
    await rm(stateDirectory, { recursive: true, force: true });
  }
}

/** As they are, the files are a further channel, and one more file starts the run. */
async function declare(region: Region, projectFolder: string, name: SmallFiles): Promise<void> {
  const { clients, stack } = region;
  const Body = await readFile(join(projectFolder, 'training/measure/small_files/train.py'));
  await clients.s3.send(
    new PutObjectCommand({ Bucket: stack.bucket, Key: `${bucketKeys.source(name)}train.py`, Body }),
  );
  const isPacked = name === 'small-files-packed';
  const { status, body } = await apiClient(region).call(
    'PUT',
    `/pipelines/${name}`,
    stringify({
      name,
      settle: { quietSeconds: QUIET_SECONDS },
      packing: { label: isPacked ? 'parentFolder' : 'none' },
      training: {
        strategy: 'single',
        inputMode: 'File',
        ...(!isPacked && { channels: { files: { s3: 'files/', inputMode: 'File' } } }),
      },
      compute: {
        instanceTypes: ['c5.xlarge'],
        nodes: 1,
        purchaseOption: 'on-demand',
        vpc: await defaultVpc(clients.ec2),
      },
      limits: { deadlineHours: 2 },
    }),
  );
  if (status !== 200) throw new Error(`the pipeline was refused: ${JSON.stringify(body)}`);
}

async function train(region: Region, name: SmallFiles, files: number): Promise<SmallFilesRow> {
  const incoming = bucketKeys.incoming(name);
  await upload(region, name === 'small-files-packed' ? incoming : `${name}/files/`, files);
  if (name === 'small-files') await upload(region, incoming, 1);
  const runId = runIdOf(name, 1);
  const { run, timeline, progress } = await endOf(region, runId);
  if (run.status !== 'succeeded') throw new Error(`${runId} ${run.status}: ${run.failure ?? ''}`);
  const at = (kind: string): number =>
    Date.parse(timeline.find((event) => event.kind === kind)?.at ?? 'never');
  return {
    name,
    objects: name === 'small-files' ? files : await shardsOf(region, name),
    packingSeconds: seconds(at('Settled'), at('DatasetSealed')),
    downloadSeconds: await downloadOf(region, runId),
    stepSeconds: progress?.metrics?.['stepSeconds'] ?? Number.NaN,
    wholeSeconds: seconds(at('Settled'), Date.parse(run.result?.finishedAt ?? 'never')),
  };
}

const seconds = (from: number, to: number): number => Math.round((to - from) / 100) / 10;

async function upload({ clients, stack }: Region, prefix: string, files: number): Promise<void> {
  await eachLimited(Array(files).keys(), UPLOADERS, async (file) => {
    const Key = `${prefix}${file % CLASSES}/${String(file).padStart(7, '0')}.bin`;
    await clients.s3.send(new PutObjectCommand({ Bucket: stack.bucket, Key, Body: randomBytes(FILE_BYTES) }));
  });
}

const answered = z.object({
  run: z.object({
    status: z.string(),
    failure: z.string().optional(),
    result: z.object({ finishedAt: z.string() }).optional(),
  }),
  timeline: z.array(z.object({ kind: z.string(), at: z.string() })),
  progress: z.object({ metrics: z.record(z.string(), z.number()).optional() }).optional(),
});
const ENDED: readonly string[] = ['succeeded', 'failed', 'empty', 'stopped', 'notNeeded'];

/** A run begins to answer once its batch has settled. */
async function endOf(region: Region, runId: string): Promise<z.output<typeof answered>> {
  const limit = Date.now() + RUN_SECONDS * 1_000;
  while (Date.now() < limit) {
    const { status, body } = await apiClient(region).call('GET', `/runs/${runId}`);
    const found = status === 200 ? answered.parse(body) : undefined;
    if (found !== undefined && ENDED.includes(found.run.status)) return found;
    await sleep(1_000);
  }
  throw new Error(`${runId} did not end within ${RUN_SECONDS} s`);
}

const datasets = z.object({ generations: z.array(z.object({ shards: z.number().optional() })) });

async function shardsOf(region: Region, name: string): Promise<number> {
  const { body } = await apiClient(region).call('GET', `/pipelines/${name}/dataset`);
  return datasets.parse(body).generations.reduce((sum, { shards = 0 }) => sum + shards, 0);
}

async function downloadOf({ clients }: Region, runId: string): Promise<number> {
  const { TrainingJobSummaries: [job] = [] } = await clients.sageMaker.send(
    new ListTrainingJobsCommand({
      NameContains: `${runId}-`,
      SortBy: 'CreationTime',
      SortOrder: 'Descending',
    }),
  );
  const { SecondaryStatusTransitions = [] } = await clients.sageMaker.send(
    new DescribeTrainingJobCommand({ TrainingJobName: job?.TrainingJobName ?? runId }),
  );
  const of = SecondaryStatusTransitions.filter(({ Status }) => Status === 'Downloading');
  return of.reduce(
    (sum, { StartTime, EndTime }) =>
      sum + seconds(StartTime?.getTime() ?? 0, EndTime?.getTime() ?? StartTime?.getTime() ?? 0),
    0,
  );
}

export const smallFilesTable = (rows: readonly SmallFilesRow[]): string =>
  markdownTable(
    ['workload', 'objects', 'packing s', 'download s', 'seconds a step', 'arrivals to end s'],
    rows.map((row) => [
      `\`${row.name}\``,
      String(row.objects),
      row.name === 'small-files' ? '' : row.packingSeconds.toFixed(1),
      row.downloadSeconds.toFixed(1),
      row.stepSeconds.toFixed(4),
      row.wholeSeconds.toFixed(1),
    ]),
  );
