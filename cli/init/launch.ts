/** What a launch script or notebook asks of the SageMaker SDK. Python's own parser reads it; nothing of it is executed. */
import { own } from '@tidewheel/kit/own-property.ts';
import { shellQuote } from '@tidewheel/kit/shell-quote.ts';
import { isTable } from '@tidewheel/kit/tables.ts';
import * as z from 'zod';
import { ARGUMENTS, type Arguments } from './fields.ts';
import {
  asTable,
  asText,
  cannot,
  entriesOf,
  type FoundJob,
  type JobRow,
  type Line,
  listOf,
  plain,
  rowOf,
  type Table,
  unreadAt,
  verdictOf,
} from './job.ts';
import { runPython } from './python.ts';
import { foundJob } from './request.ts';

const callSchema = z.object({
  $call: z.string(),
  line: z.string(),
  positional: z.array(z.unknown()),
  arguments: z.record(z.string(), z.unknown()),
});
const answerSchema = z.object({
  jobs: z.array(callSchema.extend({ methods: z.array(callSchema) })),
  skipped: z.array(z.string()),
});
type Call = z.infer<typeof callSchema>;
export type LaunchCall = Call & { readonly methods: readonly Call[] };

/** Whether a file may start a SageMaker job, by its text. */
export const mayLaunch = (text: string): boolean =>
  /\.create_training_job\(/.test(text) ||
  (/(^|["\n])\s*(import|from)\s+sagemaker\b/m.test(text) &&
    /\b(Estimator|Framework|HuggingFace|ModelTrainer|PyTorch|SKLearn|TensorFlow|XGBoost)\(/.test(text));

/** @returns the calls that make an estimator, or a job by boto3 @throws Error where Python is missing or cannot read the file */
export const readLaunch = async (
  file: string,
  surroundings: Parameters<typeof runPython>[3],
): Promise<readonly LaunchCall[]> =>
  (await runPython('read_launch.py', answerSchema, [file], surroundings)).jobs;

const FIRST_ARGUMENT: Readonly<Record<string, string>> = {
  Estimator: 'image_uri',
  fit: 'inputs',
  train: 'input_data_config',
  tune: 'inputs',
};
const FRAMEWORKS: Readonly<Record<string, readonly [name: string, version: string]>> = {
  PyTorch: ['pytorch', 'framework_version'],
  TensorFlow: ['tensorflow', 'framework_version'],
  HuggingFace: ['huggingface', 'transformers_version'],
  SKLearn: ['sklearn', 'framework_version'],
  XGBoost: ['xgboost', 'framework_version'],
};

/** What is collected of one call and its methods. */
class Reading {
  request: Table = {};
  readonly words = new Map<string, string>();
  readonly rows: JobRow[] = [];
  given: Table = {};

  take(call: Call, known: Arguments): void {
    const name = call.$call.split('.').at(-1) ?? '';
    const [first] = call.positional;
    const positional = first === undefined ? {} : { [FIRST_ARGUMENT[name] ?? 'entry_point']: first };
    for (const [word, value] of Object.entries({ ...positional, ...call.arguments })) {
      const argument = word.replace(OF_VERSION_1, (old) => RENAMED[old] ?? '');
      const line = own(known, argument);
      this.given = { ...this.given, [argument]: value };
      if (value === null) continue;
      if (typeof line === 'string' && !line.endsWith('.')) this.put(line, value, word);
      else if (typeof line === 'object') this.tell(word, value, line);
      else if (word.startsWith('**')) this.tell(word, value, { ...UNKNOWN, verdict: 'unread', why: '' });
      else if (line === undefined) this.tell(word, value, UNKNOWN);
    }
  }

  tell(argument: string, value: unknown, line: Line): void {
    // An object of the SDK is read, and its fields have rows of their own.
    const verdict = CONFIGURATION.test(asText(asTable(value)['$call']) ?? '')
      ? line.verdict
      : verdictOf(line, value);
    this.rows.push(rowOf(argument, value, { ...line, verdict }));
  }

  /** A value of the API's form, or an object of a configuration class. */
  put(at: string, value: unknown, word: string): void {
    if (at === 'HyperParameters') return;
    const made = fieldsOf(value);
    const plain = isTable(made) && !('$unread' in made) && !('$call' in made) && !('$number' in made);
    if (plain && at !== 'Environment') {
      for (const [name, each] of Object.entries(made)) this.put(`${at}.${name}`, each, word);
      return;
    }
    if (made === null) return;
    const field = ARGUMENTS.written[at] ?? at;
    this.words.set(field, word);
    this.request = withValue(this.request, field.split('.'), made);
  }
}

/** As version 2 of the SDK calls them. */
const RENAMED: Readonly<Record<string, string>> = { distributions: 'distribution', image_name: 'image_uri' };
const OF_VERSION_1 = /^(distributions|image_name)$|^train_(?=instance_|max_|use_|volume_)/;

const UNKNOWN: Line = { verdict: 'cannot', ours: '', why: 'this argument is not known here' };

const withValue = (table: Table, [name = '', ...below]: readonly string[], value: unknown): Table => ({
  ...table,
  [name]: below.length === 0 ? value : withValue(asTable(table[name]), below, value),
});

/** `s3_uri` is S3Uri. */
const pascal = (name: string): string =>
  name
    .split('_')
    .map((part) => part.slice(0, 1).toUpperCase() + part.slice(1))
    .join('');

/** Names the arguments of an SDK object as the API does. */
function fieldsOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fieldsOf);
  const name = CONFIGURATION.exec(asText(asTable(value)['$call']) ?? '')?.[1];
  if (name === undefined) return value;
  const { positional, arguments: named } = asTable(value);
  const words = own(IN_ORDER, name) ?? [];
  const inOrder = listOf(positional).map((each, index) => [words[index] ?? `${index}`, each] as const);
  return Object.fromEntries(
    [...inOrder, ...Object.entries(asTable(named))].map(([field, each]) => [pascal(field), fieldsOf(each)]),
  );
}

/** A class, not a function such as get_execution_role. */
const CONFIGURATION = /^sagemaker\..*\b([A-Z]\w*)$/;
const IN_ORDER: Readonly<Record<string, readonly string[]>> = {
  InstanceGroup: ['instance_group_name', 'instance_type', 'instance_count'],
};

const NO_TRANSFORMERS = cannot(
  'the images of TensorFlow have no transformers: write it in requirements.txt, with this version',
);

const OF_BOTO3 = 'create_training_job';

/** An estimator that is only made starts nothing. */
export const isStarted = ({ $call, methods }: LaunchCall): boolean =>
  $call.endsWith(OF_BOTO3) || methods.some((method) => method.$call !== 'set_hyperparameters');

/** @param origin the name of the file */
export function jobOfCall(call: LaunchCall, origin: string): FoundJob {
  const name = call.$call.split('.').at(-1) ?? '';
  if (name !== OF_BOTO3) return jobOfEstimator(name, call, origin);
  const image = asTable(call.arguments['AlgorithmSpecification'])['TrainingImage'];
  return { ...foundJob(call.arguments), origin, framework: frameworkOfImage(image) };
}

function jobOfEstimator(name: string, call: LaunchCall, origin: string): FoundJob {
  const isTrainer = name === 'ModelTrainer';
  const reading = new Reading();
  const known = isTrainer ? ARGUMENTS.modelTrainer : ARGUMENTS.estimator;
  reading.take(call, known);
  for (const method of call.methods) if (method.$call !== 'set_hyperparameters') reading.take(method, known);
  const { given, rows, words } = reading;
  const set = call.methods.filter(({ $call }) => $call === 'set_hyperparameters');
  if (hasTensorFlow(name, given))
    reading.tell('transformers_version', given['transformers_version'], NO_TRANSFORMERS);
  const code = isTrainer ? sourceCode(given, reading) : given;
  return {
    origin,
    request: { ...reading.request, ...channels(given['inputs'] ?? given['input_data_config'], reading) },
    hyperparameters: Object.fromEntries(
      [given['hyperparameters'], ...set.map((each) => each.arguments)].flatMap((each) =>
        Object.entries(entriesOf(each)),
      ),
    ),
    words,
    framework: frameworkOf(name, given) ?? frameworkOfImage(given['image_uri'] ?? given['training_image']),
    entryPoint: asText(code['entry_point'] ?? code['entry_script']),
    source: asText(code['source_dir']),
    dependencies: listOf(code['dependencies']).flatMap((each) => asText(each) ?? []),
    distribution: isTrainer ? distributed(given['distributed']) : asTable(given['distribution']),
    command: shellCommand(code),
    rows,
  };
}

const hasTensorFlow = (estimator: string, given: Table): boolean =>
  estimator === 'HuggingFace' && asText(given['tensorflow_version']) !== undefined;

function frameworkOf(estimator: string, given: Table): FoundJob['framework'] {
  const [name, argument = ''] = hasTensorFlow(estimator, given)
    ? ['tensorflow', 'tensorflow_version']
    : (own(FRAMEWORKS, estimator) ?? []);
  return name === undefined ? undefined : { name, argument, version: asText(given[argument]) };
}

/** `image_uris.retrieve(framework="xgboost", region=region, version="1.7-1")`. */
function frameworkOfImage(image: unknown): FoundJob['framework'] {
  const { $call, positional, arguments: named } = asTable(image);
  if (asText($call)?.endsWith('image_uris.retrieve') !== true) return undefined;
  const [first, , third] = listOf(positional);
  const name = asText(asTable(named)['framework'] ?? first);
  const version = asText(asTable(named)['version'] ?? third);
  const isKnown = Object.values(FRAMEWORKS).some(([known]) => known === name);
  return name === undefined || !isKnown ? undefined : { name, argument: 'version', version };
}

function sourceCode(given: Table, reading: Reading): Table {
  const code = asTable(asTable(given['source_code'])['arguments']);
  for (const [name, value] of Object.entries(code)) {
    const line = own(ARGUMENTS.sourceCode, name);
    reading.tell(`source_code.${name}`, value, typeof line === 'object' ? line : UNKNOWN);
  }
  return code;
}

/** The SDK gives `command` to a shell. */
export function shellCommand(code: Table): readonly string[] | undefined {
  const command = asText(code['command']);
  if (command === undefined) return undefined;
  const words = listOf(code['args']).map((each) => shellQuote(typeof each === 'string' ? each : plain(each)));
  return ['bash', '-c', [command, ...words].join(' ')];
}

/** `Torchrun(process_count_per_node=2)` as the argument `distribution` has it. */
function distributed(value: unknown): Table {
  const name = asText(asTable(value)['$call'])?.split('.').at(-1);
  const { process_count_per_node: processes_per_host = null, smp } = asTable(asTable(value)['arguments']);
  const settings = { enabled: true, processes_per_host };
  if (name === 'Torchrun' && smp === undefined) return { torch_distributed: settings };
  return name === 'MPI' ? { mpi: settings } : name === undefined ? {} : { [name]: settings };
}

const DEFAULT_CHANNEL = 'training';
const UNREAD_INPUTS: Line = { verdict: 'unread', ours: 'training.channels', why: '' };

function channels(inputs: unknown, reading: Reading): { InputDataConfig?: unknown[] } {
  if (inputs === undefined || inputs === null) return {};
  reading.words.set('InputDataConfig', Array.isArray(inputs) ? 'input_data_config' : 'inputs');
  const table = asTable(inputs);
  if ('$unread' in table) {
    reading.tell('inputs', inputs, UNREAD_INPUTS);
    return {};
  }
  const found = Array.isArray(inputs)
    ? inputs.flatMap((each) => {
        const { ChannelName = DEFAULT_CHANNEL, DataSource = null, ...rest } = asTable(fieldsOf(each));
        if (unreadAt(rest) === undefined) return [{ ...rest, ChannelName, ...sourceOf(DataSource) }];
        reading.tell('inputs', each, UNREAD_INPUTS);
        return [];
      })
    : '$call' in table || typeof inputs === 'string'
      ? [channel(DEFAULT_CHANNEL, inputs, reading)]
      : Object.entries(table).map(([name, value]) => channel(name, value, reading));
  return { InputDataConfig: found };
}

const s3Of = (uri: unknown): Table => ({
  DataSource: { S3DataSource: { S3Uri: uri } },
});

/** A text or a call stands for an address in S3. */
const sourceOf = (source: unknown): Table => {
  const table = asTable(source);
  if (typeof source === 'string' || '$call' in table || '$unread' in table) return s3Of(source);
  return { DataSource: 'S3DataSource' in table || 'FileSystemDataSource' in table ? table : nested(table) };
};
const nested = (table: Table): unknown =>
  'S3Uri' in table ? { S3DataSource: table } : { FileSystemDataSource: table };

function channel(name: string, value: unknown, reading: Reading): Table {
  const call = asTable(value);
  const isInput = /^sagemaker\..*(TrainingInput|FileSystemInput|s3_input)$/.test(asText(call['$call']) ?? '');
  if (!isInput) return { ChannelName: name, ...sourceOf(value) };
  const [first] = listOf(call['positional']);
  const given = { ...(first === undefined ? {} : { s3_data: first }), ...asTable(call['arguments']) };
  let made: Table = {};
  for (const [argument, each] of Object.entries(given)) {
    const at = own(ARGUMENTS.trainingInput, argument);
    if (each === null) continue;
    if (typeof at === 'string') {
      made = withValue(made, at.split('.').slice(1), each);
      reading.words.set(at, argument);
    } else reading.tell(`${name}: ${argument}`, each, at ?? UNKNOWN);
  }
  return { ChannelName: name, ...made };
}
