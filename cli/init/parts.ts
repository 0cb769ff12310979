/** From a SageMaker job to the parts of a declaration, with the difference field by field. */
import { instanceFacts } from '@tidewheel/catalog/catalog.ts';
import { imageVersions } from '@tidewheel/catalog/images.ts';
import { trainingSchema } from '@tidewheel/declaration/pipeline.ts';
import { HYPERPARAMETERS } from '@tidewheel/declaration/script.ts';
import { check } from '@tidewheel/kit/validation.ts';
import { fieldLine, leavesOf, placeOf } from './fields.ts';
import { inputsOf } from './inputs.ts';
import {
  asTable,
  asText,
  better,
  cannot,
  entriesOf,
  type FoundJob,
  type JobRow,
  type Line,
  listOf,
  numberOf,
  plain,
  rowOf,
  same,
  type Table,
  unreadAt,
  verdictOf,
} from './job.ts';
import type { ScriptFacts } from './script.ts';

/** What a job says of a declaration. Tables have the fields of their sections. */
export interface DeclaredJob {
  readonly origin: string;
  readonly training: Table;
  readonly compute: Table;
  readonly limits: Table;
  readonly tags: Table;
  readonly data: string | undefined;
  readonly rows: readonly JobRow[];
}

interface Surroundings {
  /** Names in the project's folder. */
  readonly files: readonly string[];
  /** Undefined if the script is not in the folder. */
  readonly facts: ScriptFacts | undefined;
}

export function declareJob(job: FoundJob, { files, facts }: Surroundings): DeclaredJob {
  const { request } = job;
  const inputs = inputsOf(job, files);
  const compute = computeOf(request);
  const [type] = listOf(compute['instanceTypes']);
  const image = imageOf(job, instanceFacts(asText(type) ?? '')?.acceleratorCount === 0 ? 'cpu' : 'gpu');
  const { strategy, settings, rows } = strategyOf(
    job,
    Number(compute['nodes'] ?? 1),
    image.parts['framework'],
  );
  const values = valuesOf(job);
  const all = [...rowsOf(job), ...job.rows, ...image.rows, ...rows, ...values.rows, ...inputs.rows];
  return {
    origin: job.origin,
    data: inputs.data,
    training: {
      strategy,
      ...settings,
      ...programOf(job),
      ...job.settings,
      ...image.parts,
      ...values.parts,
      ...(facts !== undefined && modelFolder(image.parts['framework'], facts)),
      ...(Object.keys(inputs.channels).length > 0 && { channels: inputs.channels }),
    },
    compute: strategy === 'single' ? { ...compute, nodes: 1 } : compute,
    limits: limitsOf(request),
    tags: tagsOf(request['Tags']),
    rows: [...all.filter((row) => !isContradicted(row, all)), ...missingScript(job, facts)],
  };
}

const programOf = ({ command, entryPoint = 'train.py' }: FoundJob): Table => {
  if (command !== undefined) return { command: command.map(literal) };
  return entryPoint.endsWith('.sh') ? { command: ['bash', entryPoint, HYPERPARAMETERS] } : { entryPoint };
};

const isContradicted = ({ theirs, verdict }: JobRow, all: readonly JobRow[]): boolean =>
  verdict === 'same' && all.some((other) => other.theirs === theirs && other.verdict !== 'same');

function missingScript({ entryPoint, command }: FoundJob, facts: ScriptFacts | undefined): JobRow[] {
  if (command !== undefined || facts !== undefined) return [];
  const why =
    entryPoint === undefined
      ? 'the job names no script: its image, or its channel sm_drivers, has it'
      : 'no such file is here: where a cell writes it, run that cell first';
  const ours = entryPoint === undefined ? 'training.entryPoint' : 'x-local.source';
  return [rowOf('entry_point', entryPoint ?? '(none)', { verdict: 'unread', ours, why })];
}

/** Fields whose verdict depends on more than their value. */
const OWN_ROWS = [
  'AlgorithmSpecification.TrainingImage',
  'Environment',
  'InputDataConfig.ChannelName',
  'InputDataConfig.DataSource.S3DataSource.S3Uri',
];

function rowsOf({ request, words }: FoundJob): JobRow[] {
  const rows = new Map<string, JobRow>();
  for (const [at, value] of leavesOf(request)) {
    const line = fieldLine(at, value) ?? unreadLine(at, value);
    if (OWN_ROWS.includes(at) || line === undefined || value === '') continue;
    const theirs = words.get(at) ?? wordAbove(at, words) ?? at;
    const row = rowOf(theirs, value, { ...line, verdict: verdictOf(line, value) });
    const key = `${theirs} ${line.why}`;
    const before = rows.get(key);
    const isSame = before === undefined || before.value.split(', ').includes(row.value);
    rows.set(key, isSame ? (before ?? row) : { ...before, value: `${before.value}, ${row.value}` });
  }
  return [...rows.values()];
}

const wordAbove = (at: string, words: ReadonlyMap<string, string>): string | undefined =>
  [...words].find(([field]) => at.startsWith(`${field}.`))?.[1];

/** A table that could not be read has no fields of its own. */
const unreadLine = (at: string, value: unknown): Line | undefined =>
  unreadAt(value) && { verdict: 'unread', ours: placeOf(at), why: '' };

function computeOf(request: Table): Table {
  const resources = asTable(request['ResourceConfig']);
  const groups = listOf(resources['InstanceGroups']).map(asTable);
  const hasAccelerator = (group: Table) =>
    (instanceFacts(typeOf(group['InstanceType']) ?? '')?.acceleratorCount ?? 0) > 0;
  const trains = groups.find(hasAccelerator) ?? groups[0];
  const preferences = listOf(resources['InstancePreferences']).map(asTable);
  const types = [
    resources['InstanceType'],
    trains?.['InstanceType'],
    ...preferences.map((each) => each['InstanceType']),
  ];
  const counts = [
    resources['InstanceCount'],
    trains?.['InstanceCount'],
    ...preferences.map((each) => each['InstanceCount']),
  ];
  const volume = numberOf(resources['VolumeSizeInGB']);
  return {
    instanceTypes: types.flatMap((type) => typeOf(type) ?? []),
    nodes: counts.map(numberOf).find((count) => count !== undefined && count > 0) ?? 1,
    ...(groups.length > 1 && {
      helpers: groups
        .filter((group) => group !== trains)
        .map((group) => ({
          name: asText(group['InstanceGroupName']) ?? 'helpers',
          instanceType: typeOf(group['InstanceType']) ?? '',
          nodes: numberOf(group['InstanceCount']) ?? 1,
        })),
    }),
    purchaseOption: request['EnableManagedSpotTraining'] === true ? 'spot' : 'spot-then-on-demand',
    // The SDK always sends 30.
    ...(volume !== undefined && volume !== USUAL_VOLUME && { volumeGigabytes: volume }),
  };
}

const USUAL_VOLUME = 30;
const typeOf = (type: unknown): string | undefined =>
  asText(type)?.startsWith('local') === true ? undefined : asText(type)?.replace(/^ml\./, '');

const HOUR_SECONDS = 3_600;
const MOST_HOURS = 24 * 28;

function limitsOf(request: Table): Table {
  const { MaxRuntimeInSeconds, MaxWaitTimeInSeconds } = asTable(request['StoppingCondition']);
  const run = numberOf(MaxRuntimeInSeconds);
  const wait = numberOf(MaxWaitTimeInSeconds) ?? run;
  return {
    ...(wait !== undefined && {
      deadlineHours: Math.min(MOST_HOURS, Math.max(0.1, Math.ceil((wait / HOUR_SECONDS) * 10) / 10)),
    }),
    ...(run !== undefined && { maximumRunSeconds: Math.max(60, Math.round(run)) }),
  };
}

/** The SDK also takes a table. */
const tagsOf = (tags: unknown): Table =>
  Array.isArray(tags)
    ? Object.fromEntries(tags.map(asTable).map(({ Key, Value }) => [String(Key), Value]))
    : entriesOf(tags);

const IMAGES: readonly (readonly [repository: RegExp, framework: string])[] = [
  [/\/(huggingface-pytorch-training):.*transformers(\d[\d.]*)/, 'huggingface'],
  [/\/(pytorch-training|(?<=^763104351884\..*)pytorch):(\d[\d.]*)/, 'pytorch'],
  [/\/((?:huggingface-)?tensorflow-training):(\d[\d.]*)/, 'tensorflow'],
  [/\/(sagemaker-xgboost):(\d[\d.]*-?\d*)/, 'xgboost'],
  [/\/(sagemaker-scikit-learn):(\d[\d.]*-?\d*)/, 'sklearn'],
];

interface Part {
  readonly parts: Table;
  readonly rows: readonly JobRow[];
}

/** An image of AWS is named by framework and version, so that types with and without accelerators get theirs. */
function imageOf(job: FoundJob, device: 'cpu' | 'gpu'): Part {
  const given = asTable(job.request['AlgorithmSpecification'])['TrainingImage'];
  const uri = asText(given);
  const named = uri ?? unreadAt(given)?.text ?? '';
  const theirs =
    job.words.get('AlgorithmSpecification.TrainingImage') ?? 'AlgorithmSpecification.TrainingImage';
  const row = (line: Line): JobRow => rowOf(theirs, given, line);
  const found = IMAGES.flatMap(([pattern, name]) => {
    const version = pattern.exec(named)?.[2];
    return version === undefined ? [] : [{ name, version, argument: theirs }];
  })[0];
  if (uri !== undefined && found === undefined)
    return { parts: { image: uri }, rows: [row(same('training.image'))] };
  const framework = found ?? job.framework;
  if (framework === undefined)
    return {
      parts: {},
      rows: [row({ verdict: 'unread', ours: 'training.image', why: 'name framework or image' })],
    };
  const rows =
    given === undefined ? [] : [row(better('training.framework', 'the image of AWS for each type'))];
  return withVersion({ ...framework, device }, rows);
}

interface Framework {
  readonly name: string;
  readonly argument: string;
  readonly version: string | undefined;
  readonly device: 'cpu' | 'gpu';
}

/** The oldest that is not older than the job's, where AWS has no image of that one any more. */
function withVersion({ name, argument, version, device }: Framework, rows: readonly JobRow[]): Part {
  const [known = []] = [device, 'cpu' as const]
    .map((each) => imageVersions(name, each))
    .filter((versions) => versions.length > 0);
  if (version === undefined) return { parts: { framework: name }, rows };
  if (known.length === 0 || known.some((each) => each === version || each.startsWith(`${version}.`)))
    return { parts: { framework: name, frameworkVersion: version }, rows };
  const nearest =
    known.find((each) => each.localeCompare(version, 'en', { numeric: true }) >= 0) ??
    known.at(-1) ??
    version;
  const why = `no image of ${name} ${version} has a Python that the agent runs on: this is the nearest`;
  return {
    parts: { framework: name, frameworkVersion: nearest },
    rows: [...rows, rowOf(argument, version, cannot(why, `training.frameworkVersion: ${nearest}`))],
  };
}

const STRATEGIES: Readonly<Record<string, string>> = {
  torch_distributed: 'ddp',
  pytorchddp: 'ddp',
  mpi: 'mpi',
  parameter_server: 'parameter-server',
  multi_worker_mirrored_strategy: 'multi-worker-mirrored',
};

interface Chosen {
  readonly strategy: string;
  readonly settings: Table;
  readonly rows: readonly JobRow[];
}

function strategyOf({ distribution, words }: FoundJob, nodes: number, framework: unknown): Chosen {
  const rows: JobRow[] = [];
  const tell = (value: unknown, why: string) =>
    rows.push(rowOf('distribution', value, cannot(why, 'training.strategy')));
  for (const [name, given] of Object.entries(distribution)) {
    const settings = asTable(given);
    const strategy = STRATEGIES[name];
    if (name === 'instance_groups' || settings['enabled'] === false) continue;
    if (strategy === undefined) {
      const isTensorFlow = framework === 'tensorflow';
      const instead = isTensorFlow
        ? 'have the script use MultiWorkerMirroredStrategy'
        : 'torchrun starts the script';
      tell({ [name]: given }, `this library of SageMaker is not there: ${instead}`);
      return { strategy: isTensorFlow ? 'multi-worker-mirrored' : 'ddp', settings: {}, rows };
    }
    if (asText(settings['custom_mpi_options']) !== undefined)
      tell(settings['custom_mpi_options'], 'mpirun gets the options of the strategy alone');
    const processes = numberOf(settings['processes_per_host']);
    return { strategy, settings: processes === undefined ? {} : { processesPerHost: processes }, rows };
  }
  return nodes === 1 ? { strategy: 'single', settings: {}, rows } : undistributed(nodes, framework, words);
}

/** SageMaker started the script alone on each host. */
function undistributed(nodes: number, framework: unknown, words: FoundJob['words']): Chosen {
  if (framework === 'sklearn' || framework === 'xgboost') {
    const why = `no strategy trains ${framework} on several hosts: name a larger type for one`;
    const theirs = words.get('ResourceConfig.InstanceCount') ?? 'ResourceConfig.InstanceCount';
    const rows = [rowOf(theirs, `${nodes}`, cannot(why, 'compute.nodes: 1'))];
    return { strategy: 'single', settings: {}, rows };
  }
  const why = 'SageMaker started the script alone on each host: here the hosts are one gang';
  const rows = [rowOf('distribution', `none, on ${nodes} hosts`, cannot(why, 'training.strategy'))];
  return framework === 'tensorflow'
    ? { strategy: 'multi-worker-mirrored', settings: {}, rows }
    : { strategy: 'ddp', settings: { processesPerHost: 1 }, rows };
}

/** The SDK adds `--model_dir` to the command line of every TensorFlow script. */
const modelFolder = (framework: unknown, { fills }: ScriptFacts): Table =>
  framework === 'tensorflow' && fills.some(({ argument }) => argument === '--model_dir')
    ? { arguments: ['--model_dir', '${model}', HYPERPARAMETERS] }
    : {};

const SECRET =
  /(^|[_-])(secret|passw(or)?d|(api|secret|access|private)[_-]?key|(hub|hf|auth|access|api)[_-]?token)$/i;
const NO_SECRET = cannot(
  'every reader of a run sees it: put what it opens into a channel first, a gated model too; wandb sync sends offline runs',
);

/** Secrets and values that the declaration refuses are left out, each with its row. */
function valuesOf(job: FoundJob): Part {
  const rows: JobRow[] = [];
  const given: readonly (readonly [field: string, values: Table, written: (value: unknown) => unknown])[] = [
    ['hyperparameters', job.hyperparameters, hyperparameter],
    ['environment', entriesOf(job.request['Environment']), literal],
  ];
  const parts = given.map(([field, values, written]) => {
    const theirs = (field === 'environment' && job.words.get('Environment')) || field;
    const taken = Object.entries(values).filter(([name, value]) => {
      const isSecret = SECRET.test(name) || (field === 'environment' && /token$/i.test(name));
      const tell = (line: Line) => rows.push(rowOf(`${theirs}: ${name}`, isSecret ? '…' : value, line));
      const unread = unreadAt(value);
      const read = check(
        trainingSchema,
        { strategy: 'single', [field]: { [name]: checked(written(value)) } },
        'hidden',
      );
      if (isSecret) tell(NO_SECRET);
      else if (unread !== undefined) tell({ verdict: 'unread', ours: `training.${field}`, why: '' });
      else if (!read.ok) tell(cannot(read.problems.map(({ message }) => message).join('; ')));
      return !isSecret && unread === undefined && read.ok;
    });
    if (taken.length > 0) rows.push(rowOf(theirs, Object.fromEntries(taken), same(`training.${field}`)));
    return [field, Object.fromEntries(taken.map(([name, value]) => [name, written(value)]))] as const;
  });
  return { parts: Object.fromEntries(parts.filter(([, values]) => Object.keys(values).length > 0)), rows };
}

/** The schema takes a written number by its text. */
const checked = (value: unknown): unknown => {
  const number = asText(asTable(value)['$number']);
  return number === undefined ? value : { number };
};

/** The SDK gives a list or a table to the script as JSON. */
const hyperparameter = (value: unknown): unknown =>
  (typeof value === 'object' && value !== null && asTable(value)['$number'] === undefined) || value === null
    ? plain(value)
    : value;

/** Placeholders are ours: in a job these characters stood for themselves. */
const literal = <Value>(value: Value): Value | string =>
  typeof value === 'string' ? value.replaceAll(/\$(?=[${])/g, () => '$$') : value;
