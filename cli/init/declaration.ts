/** The declaration that `init` writes: what was found, with comments that say what to change. */
import { HYPERPARAMETERS } from '@tidewheel/declaration/script.ts';
import { stringify } from 'yaml';
import type { DataFacts } from './data.ts';
import { asTable, asText, type Table } from './job.ts';
import { layoutLines } from './layout-notes.ts';
import type { DeclaredJob } from './parts.ts';
import { OUTPUT, type ScriptFacts } from './script.ts';
import { inline, oneLine, word } from './yaml-text.ts';

export interface Project {
  readonly name: string;
  /** The folder of the code, relative to the project's folder; `.` is that folder. */
  readonly source: string;
  /** File name of the script, relative to the source. */
  readonly script: string;
  readonly facts: ScriptFacts;
  readonly data: DataFacts | undefined;
  readonly requirements: boolean;
  /** The script reads the folder of the data by its name, and no argument says where it is. */
  readonly namesData: boolean;
  /** Files and folders that the code imports beside its own; relative to the project's. */
  readonly dependencies?: readonly string[];
  /** The SageMaker job that the declaration stands for. */
  readonly job?: DeclaredJob | undefined;
}

/** Where `apply` and `drop` find source and data, relative to the declaration. Fields with x- are the user's own. */
const LOCAL_FIELD = 'x-local';

/** Tables of names that a person chose have a line for each. */
const LONG = ['channels', 'environment', 'hyperparameters'];

const section = (table: Table): string[] =>
  Object.entries(table).flatMap(([name, value]) =>
    value === undefined
      ? []
      : LONG.includes(name)
        ? [
            `  ${name}:`,
            ...Object.entries(asTable(value)).map(([key, each]) => `    ${word(key)}: ${inline(each)}`),
          ]
        : isScript(value)
          ? stringify({ [name]: value }, { lineWidth: 0 })
              .trimEnd()
              .split('\n')
              .map((line) => (line === '' ? '' : `  ${line}`))
          : [`  ${name}: ${inline(value)}${HINTS[name] === undefined ? '' : `   # ${HINTS[name]}`}`],
  );

/** Lines of a shell. */
const isScript = (value: unknown): boolean =>
  Array.isArray(value) && value.some((each) => typeof each === 'string' && each.includes('\n'));

const HINTS: Readonly<Record<string, string>> = {
  instanceTypes: 'interchangeable; three or more find capacity best',
  deadlineHours: 'from the drop to the model, with all attempts',
  purchaseOption: 'spot-then-on-demand: Spot while the deadline allows it',
};

export function declarationText(project: Project): string {
  const { name, job } = project;
  const tags = job?.tags ?? {};
  return [
    `# Written by tidewheel init from ${job?.origin ?? 'what lies in this folder'}. Every field: docs/pipeline.md of Tidewheel.`,
    '# tidewheel check says whether it is valid, tidewheel apply declares it.',
    `name: ${word(name)}`,
    `${LOCAL_FIELD}: ${inline(localOf(project))}   # what apply uploads as the code, and drop as the data`,
    ...(Object.keys(tags).length === 0 ? [] : [`tags: ${inline(tags)}`]),
    '',
    'settle: { quietSeconds: 60 }   # a run begins when nothing has arrived for so long',
    ...packing(project),
    ...training(project),
    'compute:',
    ...section({ ...USUAL_COMPUTE, instanceTypes: typesFor(project), ...filled(job?.compute) }),
    'limits:',
    ...section({ ...USUAL_LIMITS, ...(job?.limits ?? { budgetUsd: 10 }) }),
    // A job has none, and one that is too small would stop its run.
    ...(job === undefined ? [] : ['  # budgetUsd: 50   # no attempt starts that may pass this sum']),
    '',
  ].join('\n');
}

const localOf = ({ source, dependencies = [], data, job }: Project): Table => ({
  source,
  ...(dependencies.length > 0 && { dependencies }),
  ...((data !== undefined || job === undefined || job.data !== undefined) && {
    data: data?.folder ?? job?.data ?? 'data',
  }),
});

const USUAL_COMPUTE = { instanceTypes: [], nodes: 1, purchaseOption: 'spot-then-on-demand' };
const USUAL_LIMITS = { deadlineHours: 24 };

/** A list without entries was not read. */
const filled = (table: Table = {}): Table =>
  Object.fromEntries(Object.entries(table).filter(([, value]) => !Array.isArray(value) || value.length > 0));

function typesFor({ facts, job }: Project): readonly string[] {
  const framework = asText(job?.training['framework']) ?? facts.framework;
  return framework === 'sklearn' || framework === 'xgboost'
    ? ['c5.2xlarge', 'm5.2xlarge', 'c5.4xlarge']
    : ['g5.xlarge', 'g4dn.xlarge', 'g6.xlarge'];
}

/** Channels that a script names and that no job gives: each has a folder of its name in the data, or all of it. */
function channelsOf(project: Project): Table {
  const { job, facts, data, namesData } = project;
  if (job !== undefined) return asTable(job.training['channels']);
  const found = namedChannels(facts).map((name): readonly [string, Table] => [
    name,
    { s3: data?.folders.includes(name) ? `incoming/${name}/` : 'incoming/' },
  ]);
  const readsData = namesData || facts.fills.some(({ what }) => what === 'data');
  return { ...Object.fromEntries(found), ...(readsData && { data: { s3: 'incoming/' } }) };
}

/** Channels that would all have the same files. */
const sharing = (channels: Table): readonly string[] =>
  Object.keys(channels).filter((name) => asTable(channels[name])['s3'] === 'incoming/');

/** Of channels that lie side by side in one folder: each has the files that are named for it. */
function givenSplit(project: Project): Table | undefined {
  const names = sharing(channelsOf(project));
  const split = asTable(project.data?.layout?.fields.split);
  return names.length > 1 && names.every((name) => name in split) ? split : undefined;
}

/** `train` has the shards of a script that reads such. */
export const namedChannels = ({ channels, readsShards }: ScriptFacts): readonly string[] =>
  channels.filter((name) => name !== 'train' || !readsShards);

function packing(project: Project): string[] {
  const { data } = project;
  const why = whyUnpacked(project);
  if (why !== undefined)
    return [
      ...(data === undefined ? [] : [`# ${data.files} files in ${data.folder}/`]),
      `# ${why}, so none is packed into shards: the script gets those of the sealed version in their folders`,
      '# (docs/datasets.md), and copies of them where dataset: { keep: versions } is declared.',
      givenSplit(project) === undefined
        ? 'packing: none'
        : `packing: ${inline({ format: 'none', split: givenSplit(project) })}`,
    ];
  if (data === undefined)
    return ['# No data was found: put its folder above, and its suffixes here.', 'packing: { label: none }'];
  const label =
    data.labels.length === 0
      ? '  label: none   # parentFolder, namePattern or annotations, if the samples have labels'
      : `  label: parentFolder   # ${data.labels.slice(0, 4).join(', ')}${data.labels.length > 4 ? ', …' : ''}`;
  return [
    'packing:',
    `  # ${data.files} files in ${data.folder}/`,
    '  format: webdataset',
    data.isUnknown === true
      ? '  # accept: [.png]   # only these suffixes; most files here have others than init knows, so all are accepted'
      : `  accept: ${inline(data.suffixes)}   # other files are rejected, with the reason in the report`,
    ...(data.layout === undefined ? [label] : layoutLines(data.layout)),
  ];
}

const FEW_FILES = 1_000;
/** A quarter of a shard: what a shard saves is requests for small files. */
const LARGE_BYTES = 64e6;

const TABLES = ['.csv', '.tsv', '.parquet', '.jsonl', '.ndjson', '.arrow', '.feather'];

/** A sentence's beginning; undefined where shards read faster. */
function whyUnpacked(project: Project): string | undefined {
  const { data, facts, script } = project;
  if (readsFiles(project)) return `${script} reads files`;
  if (data === undefined || facts.readsShards) return undefined;
  const isTable =
    data.suffixes.length > 0 && data.suffixes.every((suffix) => TABLES.includes(suffix.toLowerCase()));
  if (isTable) return 'Tables are read as files';
  const isLarge = data.files <= FEW_FILES && (data.bytes ?? 0) >= LARGE_BYTES * data.files;
  return isLarge ? 'Few large files gain nothing in shards' : undefined;
}

/** It gets a channel of files. */
export const readsFiles = (project: Project): boolean =>
  Object.values(channelsOf(project)).some((channel) =>
    asText(asTable(channel)['s3'])?.startsWith('incoming/'),
  );

/** What a person has to do before the script can train here. */
export function toDo(project: Project): string[] {
  const { script, facts, data, namesData } = project;
  const { required } = facts;
  const shared = givenSplit(project) === undefined ? sharing(channelsOf(project)) : [];
  return [
    ...(shared.length < 2
      ? []
      : [
          `the channels ${shared.join(', ')} have the same files: put those of each into a folder of its name`,
        ]),
    ...(required.length === 0
      ? []
      : [
          `${script} requires ${required.join(', ')}: add ${required.length === 1 ? 'it' : 'them'} to arguments`,
        ]),
    ...(namesData && data !== undefined
      ? [
          `${script} reads "${data.folder}" itself, which is elsewhere there: have it read os.environ.get("SM_CHANNEL_DATA", "${data.folder}")`,
        ]
      : []),
    ...(facts.saves
      ? []
      : [`${script} seems to save nothing, so that no model is left: add ${SAVING[facts.framework]}`]),
  ];
}

/** Where no argument names the model, the script runs in the folder that is kept. */
const SAVING = {
  pytorch: 'torch.save(model.state_dict(), "model.pt") at its end',
  tensorflow: 'model.save("model.keras") at its end',
  sklearn: 'joblib.dump(model, "model.joblib") at its end',
  xgboost: 'model.save_model("model.json") at its end',
} as const;

function training(project: Project): string[] {
  const { job } = project;
  return [
    'training:',
    ...(job === undefined ? ofScript(project) : section({ ...job.training, channels: undefined })),
    ...(project.requirements
      ? ['  # requirements.txt is installed on every host before the script starts.']
      : []),
    ...(job?.rows ?? [])
      .filter(({ verdict }) => verdict === 'unread')
      .map(
        ({ theirs, value, ours, why }) =>
          `  # TO DO: ${oneLine(`${theirs} is ${value} in ${job?.origin}: write ${ours}${why && `; ${why}`}`)}.`,
      ),
    ...toDo(project).map((line) => `  # TO DO: ${oneLine(line)}.`),
    ...channelLines(project),
    ...(job === undefined ? savingOf(project) : []),
  ];
}

function ofScript({ script, facts }: Project): string[] {
  const words = facts.fills.flatMap(({ argument, what, file }) => wordsFor(argument, what, file));
  return [
    `  strategy: ${facts.strategy}   # ${strategyHint(facts.strategy)}`,
    `  entryPoint: ${word(script)}`,
    `  framework: ${facts.framework}`,
    ...(words.length === 0 ? [] : [`  arguments: [${[...words, ...settable(facts)].join(', ')}]`]),
    ...defaultsOf(facts),
  ];
}

function channelLines(project: Project): string[] {
  const split = givenSplit(project);
  const channels = Object.fromEntries(
    Object.entries(channelsOf(project)).filter(([name]) => split === undefined || !(name in split)),
  );
  if (split !== undefined && Object.keys(channels).length === 0)
    return [
      `  # The script finds its files in ${Object.keys(split)
        .filter((name) => name !== 'by')
        .map((name) => `$SM_CHANNEL_${name.toUpperCase()}`)
        .join(', ')}.`,
    ];
  const [name] = Object.keys(channels);
  if (name === undefined)
    return whyUnpacked(project) === undefined
      ? ['  # The script finds the shards in $SM_CHANNEL_TRAIN: tar files of the samples.']
      : ['  # The script finds the files in $SM_CHANNEL_TRAINING.'];
  const lacking = namedChannels(project.facts).filter((each) => channels[each] === undefined);
  const isElsewhere = Object.values(channels).some((each) =>
    asText(asTable(each)['s3'])?.startsWith('s3://'),
  );
  return [
    ...section({ channels }),
    ...lacking.map(
      (each) =>
        `    # The script also reads $SM_CHANNEL_${each.toUpperCase()}, which ${project.job?.origin} does not give.`,
    ),
    ...(isElsewhere
      ? [
          '    # The deployment has to name such prefixes (--param="sharedPrefixes=…"). Files that are dropped to incoming/ have versions.',
        ]
      : []),
    ...(readsFiles(project)
      ? [
          `    # The files as they were dropped, in $SM_CHANNEL_${name.toUpperCase()}, without those that come after the seal.`,
        ]
      : []),
  ];
}

function savingOf({ name, facts }: Project): string[] {
  const leavesModel = facts.namesModelFolder || facts.fills.some(({ what }) => what === 'model');
  const isKept = facts.fills.some(({ argument, what }) => what === 'checkpoints' && OUTPUT.test(argument));
  return [
    ...(leavesModel || isKept
      ? []
      : [
          `  workingDirectory: '\${checkpoints}'   # no argument for the model was found: files are saved where it runs`,
        ]),
    ...(leavesModel ? [] : [`  model: none   # they stay in ${name}/runs/RUN/checkpoints/`]),
    ...resumeOf(facts),
    ...(facts.fills.some(({ what }) => what === 'checkpoints') || !facts.saves
      ? []
      : [
          '  # To survive an interruption it has to save now and then to ${checkpoints}: tidewheel try shows what is lost.',
        ]),
  ];
}

/** Its value is a file that the script itself has saved. */
function resumeOf({ fills }: ScriptFacts): string[] {
  const resume = fills.find(({ what }) => what === 'resume')?.argument;
  return resume === undefined || !resume.startsWith('--')
    ? []
    : [
        `  # If the script starts without the file that ${resume} names, add it: '${resume}', '\${checkpoints}/FILE'.`,
      ];
}

function wordsFor(argument: string, what: string, file: string | undefined): string[] {
  const option = argument.startsWith('-') ? [word(argument)] : [];
  const below = file === undefined ? '' : `/${file}`;
  switch (what) {
    case 'data':
      return [...option, `'\${channel:data}'`];
    case 'checkpoints':
      return [...option, `'\${checkpoints}${below}'`];
    case 'model':
      return [...option, `'\${model}${below}'`];
    default:
      return [];
  }
}

/** Without it, `tidewheel run --set lr=1e-4` would change nothing that the script sees. */
const settable = ({ defaults }: ScriptFacts): string[] =>
  defaults.some(([name]) => name.startsWith('--')) ? [`'${HYPERPARAMETERS}'`] : [];

function defaultsOf({ defaults }: ScriptFacts): string[] {
  const shown = defaults.filter(([name]) => name.startsWith('--')).slice(0, 6);
  if (shown.length === 0) return [];
  return [
    `  # Its defaults: ${shown.map(([name, value]) => `${name} ${value}`).join(', ')}.`,
    `  # hyperparameters: { ${shown[0]?.[0].slice(2)}: … } changes them, and for one run: tidewheel run --set ${shown[0]?.[0].slice(2)}=…`,
  ];
}

function strategyHint(strategy: ScriptFacts['strategy']): string {
  switch (strategy) {
    case 'single':
      return 'one process; ddp for torchrun on all GPUs of all nodes';
    case 'ddp':
      return 'torchrun starts a process for each GPU';
    case 'ray':
    case 'multi-worker-mirrored':
      return 'docs/strategies.md';
  }
}
