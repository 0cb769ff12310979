/** A training job by the fields of CreateTrainingJob: as it ran, or as a call of boto3 has it. */
import { isTable } from '@tidewheel/kit/tables.ts';
import { TOP_FIELDS } from './fields.ts';
import {
  asTable,
  asText,
  cannot,
  entriesOf,
  type FoundJob,
  type JobRow,
  listOf,
  type Table,
  unreadAt,
} from './job.ts';

const FLAGS: Readonly<Record<string, string>> = {
  sagemaker_torch_distributed_enabled: 'torch_distributed',
  sagemaker_pytorch_ddp_enabled: 'pytorchddp',
  sagemaker_mpi_enabled: 'mpi',
  sagemaker_parameter_server_enabled: 'parameter_server',
  sagemaker_multi_worker_mirrored_strategy_enabled: 'multi_worker_mirrored_strategy',
  sagemaker_distributed_dataparallel_enabled: 'smdistributed',
  sagemaker_pytorch_xla_multi_worker_enabled: 'pytorchxla',
};

/** @param job as CreateTrainingJob has it, with values of a script that could not be read */
export function foundJob(job: Table): FoundJob {
  const all = Object.fromEntries(
    Object.entries(entriesOf(job['HyperParameters'])).map(([name, value]) => [
      name,
      isTable(value) ? value : decoded(String(value)),
    ]),
  );
  const { HyperParameters: _decoded, ...request } = Object.fromEntries(
    Object.entries(job).filter(
      ([name, value]) => (TOP_FIELDS.has(name) || unreadAt(value) !== undefined) && value !== null,
    ),
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

export function channelUri(request: Table, name: string): string | undefined {
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
