/** A training job that ran, as DescribeTrainingJob has it: by its name, or saved as JSON. */
import { mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { isTable } from '@tidewheel/kit/tables.ts';
import { type BlobStore, listPages } from '@tidewheel/packing/store.ts';
import * as z from 'zod';
import { descriptionOf } from '../../functions/aws/sagemaker/training-service.ts';
import { sageMaker } from '../../functions/aws/shared/compute-clients.ts';
import type { Context } from '../command/context.ts';
import { withBucket } from '../dataset/open.ts';
import { fetchSavedFiles, saveObject } from '../dataset/save-object.ts';
import { networkRemedy } from '../deployment/surroundings.ts';
import { asTable, asText, type FoundJob, rowOf, type Table } from './job.ts';
import { shellCommand } from './launch.ts';
import { runPython } from './python.ts';
import { channelUri, foundJob } from './request.ts';

const MOST_FILE_BYTES = 4_000_000;

/** @throws UsageError where there is no such file or job */
export async function describedJob(given: string, { folder, environment }: Context): Promise<FoundJob> {
  const answer = given.endsWith('.json')
    ? await saved(path.resolve(folder, given))
    : await ofAws(given, environment);
  const job = isTable(answer) && isTable(answer['TrainingJob']) ? answer['TrainingJob'] : asTable(answer);
  if (asText(job['TrainingJobName']) === undefined)
    throw new UsageError([
      `--from-job is "${given}", which has no TrainingJobName: save what "aws sagemaker describe-training-job" prints`,
    ]);
  return foundJob(job);
}

async function saved(file: string): Promise<unknown> {
  try {
    if ((await stat(file)).size > MOST_FILE_BYTES)
      throw new Error(`it is larger than ${MOST_FILE_BYTES} bytes`);
    return JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw new UsageError([
      `--from-job is "${file}", which cannot be read (${messageOf(error)}): save what "aws sagemaker describe-training-job" prints`,
    ]);
  }
}

async function ofAws(name: string, environment: Context['environment']): Promise<unknown> {
  const answer = await descriptionOf(sageMaker(), name).catch((error: unknown) => {
    const remedy = networkRemedy(error, environment);
    throw remedy === undefined ? error : new Error(remedy, { cause: error });
  });
  if (answer !== undefined) return answer;
  throw new UsageError([
    `--from-job is "${name}": there is no such training job in this account and region (set AWS_REGION, or save it as JSON)`,
  ]);
}

const SOURCE_FOLDER = 'source';

interface Draft {
  /** Absolute; removed at the end. */
  readonly folder: string;
  /** Inside of it: not there yet. */
  readonly source: string;
}

/** @returns the job with its code in the folder `source`; with a row that says why, where it could not be fetched */
export async function withSource(job: FoundJob, folder: string, context: Context): Promise<FoundJob> {
  const archive = /^s3:\/\/([^/]+)\/(.+\.tar\.gz)$/.exec(job.source ?? '');
  const drivers = channelUri(job.request, 'sm_drivers');
  if (archive === null && drivers === undefined) return { ...job, source: '.' };
  const target = path.join(folder, SOURCE_FOLDER);
  if ((await stat(target).catch(() => undefined)) !== undefined)
    throw new UsageError([`${target} is there: move it away, so that the source of the job can be unpacked`]);
  const at = await mkdtemp(path.join(folder, '.tidewheel-source-'));
  const draft = { folder: at, source: path.join(at, 'unpacked') };
  try {
    const [, bucket = '', key = ''] = archive ?? [];
    const found =
      drivers === undefined
        ? await unpacked(job, { bucket, key }, draft, context)
        : await ofTrainer(job, drivers, draft);
    await rename(draft.source, target);
    return { ...found, source: SOURCE_FOLDER };
  } catch (error) {
    const why = `it could not be fetched (${messageOf(error)}): put the code here`;
    const value = job.source ?? drivers ?? '';
    const row = rowOf('source', value, { verdict: 'unread', ours: 'x-local.source', why });
    return { ...job, source: '.', rows: [...job.rows, row] };
  } finally {
    await rm(draft.folder, { recursive: true, force: true });
  }
}

interface Place {
  readonly bucket: string;
  readonly key: string;
}

async function unpacked(
  job: FoundJob,
  { bucket, key }: Place,
  draft: Draft,
  context: Context,
): Promise<FoundJob> {
  const archive = path.join(draft.folder, 'sourcedir.tar.gz');
  if ((await withBucket(bucket, (store) => saveObject(store, key, archive))) === undefined)
    throw new Error('it is no longer there');
  await runPython('unpack_source.py', z.object({ members: z.number() }), [archive, draft.source], context);
  return job;
}

const MOST_SOURCE_BYTES = 64 * 2 ** 20;

/** A ModelTrainer keeps the code in one channel, and in another what to start, and how. */
async function ofTrainer(job: FoundJob, drivers: string, draft: Draft): Promise<FoundJob> {
  const [, bucket = '', prefix = ''] = /^s3:\/\/([^/]+)\/(.*)$/.exec(drivers.replace(/\/*$/, '/')) ?? [];
  const [, codeBucket, code] =
    /^s3:\/\/([^/]+)\/(.*)$/.exec(`${channelUri(job.request, 'code')}`.replace(/\/*$/, '/')) ?? [];
  const read = async (store: BlobStore, name: string): Promise<unknown> => {
    const file = path.join(draft.folder, name);
    const bytes = await saveObject(store, `${prefix}${name}`, file);
    if (bytes === undefined || bytes > MOST_FILE_BYTES) throw new Error(`${drivers} has no ${name}`);
    return JSON.parse(await readFile(file, 'utf8'));
  };
  return withBucket(bucket, async (store) => {
    const start = asTable(await read(store, 'sourcecode.json'));
    const distributed = asTable(await read(store, 'distributed.json'));
    if (codeBucket !== bucket || code === undefined) throw new Error('it has no channel of code');
    let bytes = 0;
    for await (const { objects } of listPages(store, code)) for (const { size } of objects) bytes += size;
    if (bytes > MOST_SOURCE_BYTES)
      throw new Error(`it has ${bytes} bytes, and a source at most ${MOST_SOURCE_BYTES}`);
    await fetchSavedFiles(store, code, draft.source);
    return {
      ...job,
      entryPoint: asText(start['entry_script']),
      command: shellCommand(start),
      distribution: launcherOf(distributed),
    };
  });
}

/** The fields of a class, without its name: MPI alone has options of mpirun. */
const launcherOf = (distributed: Table): Table =>
  Object.keys(distributed).length === 0
    ? {}
    : {
        ['mpi_additional_options' in distributed ? 'mpi' : 'torch_distributed']: {
          processes_per_host: distributed['process_count_per_node'],
        },
      };
