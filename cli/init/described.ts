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
import { TOP_FIELDS } from './fields.ts';
import { asTable, asText, cannot, type FoundJob, type JobRow, listOf, type Table } from './job.ts';
import { shellCommand } from './launch.ts';
import { runPython } from './python.ts';

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

const FLAGS: Readonly<Record<string, string>> = {
  sagemaker_torch_distributed_enabled: 'torch_distributed',
  sagemaker_pytorch_ddp_enabled: 'pytorchddp',
  sagemaker_mpi_enabled: 'mpi',
  sagemaker_parameter_server_enabled: 'parameter_server',
  sagemaker_multi_worker_mirrored_strategy_enabled: 'multi_worker_mirrored_strategy',
  sagemaker_distributed_dataparallel_enabled: 'smdistributed',
  sagemaker_pytorch_xla_multi_worker_enabled: 'pytorchxla',
};

export function foundJob(job: Table): FoundJob {
  const all = Object.fromEntries(
    Object.entries(asTable(job['HyperParameters'])).map(([name, value]) => [name, decoded(String(value))]),
  );
  const { HyperParameters: _decoded, ...request } = Object.fromEntries(
    Object.entries(job).filter(([name, value]) => TOP_FIELDS.has(name) && value !== null),
  );
  const isTheSdks = (name: string) => name.startsWith('sagemaker_');
  const hyperparameters = Object.entries(all).filter(
    ([name, value]) => !isTheSdks(name) && !isModelDirectory(name, value),
  );
  const program = asText(all['sagemaker_program']);
  return {
    origin: asText(job['TrainingJobName']) ?? '',
    request,
    hyperparameters: Object.fromEntries(hyperparameters),
    words: new Map(),
    framework: undefined,
    entryPoint: program,
    source: sourceUri(asText(all['sagemaker_submit_directory']), request),
    dependencies: [],
    distribution: distributionOf(all),
    command: program === undefined ? containerCommand(asTable(request['AlgorithmSpecification'])) : undefined,
    rows: all['mp_parameters'] === undefined ? [] : [MODEL_PARALLEL],
  };
}

/** The SDK names a prefix of S3 for TensorFlow; the service fills it. */
const isModelDirectory = (name: string, value: unknown): boolean =>
  name === 'mp_parameters' ||
  (name === 'model_dir' && /^(s3:\/\/|\/opt\/ml\/model)/.test(asText(value) ?? ''));

const MODEL_PARALLEL: JobRow = {
  theirs: 'HyperParameters: mp_parameters',
  value: '',
  ...cannot('the model parallel library of SageMaker is not there: use FSDP or DeepSpeed with strategy ddp'),
};

/** As the SDK encodes them; a number keeps its form. */
function decoded(text: string): unknown {
  if (/^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(text))
    return /^-?(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : { $number: text };
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function distributionOf(all: Table): Table {
  const [name] = Object.entries(FLAGS).flatMap(([flag, is]) => (all[flag] === true ? [is] : []));
  return name === undefined
    ? {}
    : {
        [name]: {
          enabled: true,
          processes_per_host: all['sagemaker_mpi_num_of_processes_per_host'],
          custom_mpi_options: all['sagemaker_mpi_custom_mpi_options'],
        },
      };
}

/** Under network isolation the SDK sends the source as a channel. */
const sourceUri = (submitted: string | undefined, request: Table): string | undefined =>
  submitted?.startsWith('/opt/ml/input/data/code') === true ? channelUri(request, 'code') : submitted;

function channelUri(request: Table, name: string): string | undefined {
  const channels = listOf(request['InputDataConfig']).map(asTable);
  const found = channels.find((channel) => channel['ChannelName'] === name);
  return asText(asTable(asTable(found?.['DataSource'])['S3DataSource'])['S3Uri']);
}

/** The command of an image that starts without a script. A ModelTrainer keeps its command in files of its own. */
function containerCommand(algorithm: Table): readonly string[] | undefined {
  const { ContainerEntrypoint, ContainerArguments } = algorithm;
  const words = [...listOf(ContainerEntrypoint), ...listOf(ContainerArguments)].map(String);
  return words.length === 0 || words.some((word) => word.includes('sm_drivers')) ? undefined : words;
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
    const row: JobRow = { theirs: 'source', value, verdict: 'unread', ours: 'x-local.source', why };
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
