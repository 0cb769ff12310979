/** The declaration that `init` writes: what was found, with comments that say what to change. */

import path from 'node:path';
import { HYPERPARAMETERS, MODEL_CHANNEL } from '@tidewheel/declaration/script.ts';
import { stringify } from 'yaml';
import { counted } from '../command/format.ts';
import { type DataFacts, placeText } from './data.ts';
import { type EvaluationFacts, evaluationLines, objectiveLine, scoredOn } from './find-evaluation.ts';
import { partOf } from './given-parts.ts';
import { asTable, asText, type Table } from './job.ts';
import { layoutLines } from './layout-notes.ts';
import type { DeclaredJob } from './parts.ts';
import { OUTPUT, type ScriptFacts } from './script.ts';
import { isCommand, type Start } from './start-lines.ts';
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
  /** Files of settings at the usual places. */
  readonly configs?: readonly string[];
  /** What starts the script, where it is not the script alone. */
  readonly start?: Start | undefined;
  /** A script that scores models. */
  readonly evaluation?: EvaluationFacts | undefined;
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
    ...(isEvaluated(project)
      ? evaluationLines(project.evaluation, channelsToScore(project))
      : continues(project)
        ? ['promote: always   # every model is then the current one; docs/models.md has only a better one']
        : []),
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
    data: data?.places ?? data?.folder ?? job?.data ?? 'data',
  }),
});

const USUAL_COMPUTE = { instanceTypes: [], nodes: 1, purchaseOption: 'spot-then-on-demand' };
const USUAL_LIMITS = { deadlineHours: 24 };

/** A list without entries was not read. */
const filled = (table: Table = {}): Table =>
  Object.fromEntries(Object.entries(table).filter(([, value]) => !Array.isArray(value) || value.length > 0));

function typesFor({ facts, job }: Project): readonly string[] {
  const framework = asText(job?.training['framework']);
  return framework === 'sklearn' || framework === 'xgboost' || (framework === undefined && facts.isForCpus)
    ? ['c5.2xlarge', 'm5.2xlarge', 'c5.4xlarge']
    : ['g5.xlarge', 'g4dn.xlarge', 'g6.xlarge'];
}

/** Channels that a script names and that no job gives: each has a folder of its name in the data, or all of it. */
function channelsOf(project: Project): Table {
  const { job, facts, data, namesData } = project;
  if (job !== undefined) return asTable(job.training['channels']);
  const named = areShards(project) ? facts.channels : namedChannels(facts);
  const found = named.map((name): readonly [string, Table] => [
    name,
    { s3: data?.folders.includes(name) ? `incoming/${name}/` : 'incoming/' },
  ]);
  const words = startWords(project);
  const readsData =
    namesData || facts.fills.some(({ what }) => what === 'data') || words.some((one) => one.includes(DATA));
  return { ...Object.fromEntries(found), ...(readsData && { data: { s3: 'incoming/' } }) };
}

/** Channels that would all have the same files. */
const sharing = (channels: Table): readonly string[] =>
  Object.keys(channels).filter((name) => asTable(channels[name])['s3'] === 'incoming/');

/** Channels that lie side by side in one folder have the files that are named for each. */
function givenSplit(project: Project): Table | undefined {
  const names = sharing(channelsOf(project));
  const split = asTable(project.data?.layout?.fields.split);
  return names.length > 1 && names.every((name) => name in split) ? split : undefined;
}

/** Packing gives a script of shards those of `train` and of the parts of a split. */
const namedChannels = ({ channels, readsShards }: ScriptFacts): readonly string[] =>
  channels.filter((name) => name !== MODEL_CHANNEL && (!readsShards || partOf(name) !== name));

/** SageMaker's word for the weights that a training begins from, too. */
const continues = ({ job, facts, data }: Project): boolean =>
  job === undefined &&
  facts.namesModelFolder &&
  facts.channels.includes(MODEL_CHANNEL) &&
  data?.folders.includes(MODEL_CHANNEL) !== true;

/** Splits and channels, without that of training. */
function channelsToScore(project: Project): readonly string[] {
  const { data } = project;
  const split = Object.keys(asTable(data?.layout?.fields.split));
  const isMade = givenSplit(project) !== undefined || whyUnpacked(project) === undefined;
  const parts = isMade ? split.filter((name) => name === 'validation' || name === 'test') : [];
  const channels = Object.keys(channelsOf(project)).filter(
    (name) => !(name in asTable(data?.layout?.fields.split)),
  );
  return [...parts, ...channels.filter((name) => name !== 'train' && name !== 'training')];
}

const leavesModel = ({ facts }: Pick<Project, 'facts'>): boolean =>
  facts.namesModelFolder || facts.fills.some(({ what }) => what === 'model');

/** A job has its own objective. */
const isEvaluated = (project: Project): project is Project & { readonly evaluation: EvaluationFacts } =>
  project.job === undefined &&
  project.evaluation !== undefined &&
  project.start?.savesThere !== true &&
  leavesModel(project) &&
  scoredOn(project.evaluation, channelsToScore(project)).length > 0;

/** Parts whose shards the script reads, and that the data does not have. */
function lackingParts(project: Project): readonly string[] {
  const { job, facts, data } = project;
  if (job !== undefined || !facts.readsShards || areShards(project)) return [];
  const given = ['train', ...Object.keys(data?.layout?.fields.split ?? {})];
  return facts.channels.filter((name) => partOf(name) === name && !given.includes(name));
}

function packing(project: Project): string[] {
  const { data } = project;
  const why = whyUnpacked(project);
  if (why !== undefined)
    return [
      ...(data === undefined ? [] : [`# ${counted(data.files, 'file')} in ${placeText(data)}`]),
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
    `  # ${counted(data.files, 'file')} in ${placeText(data)}`,
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

const DATA = '${channel:data}';

/** What starts the script, without what is filled, and with the data where it is there. */
function startWords({ start, data, facts }: Project): readonly string[] {
  const given = start?.command ?? start?.arguments ?? [];
  const filled = facts.fills.filter(({ what }) => what !== 'resume').map(({ argument }) => argument);
  const isFilled = (word: string | undefined): boolean => filled.includes(word?.split('=')[0] ?? '');
  return given
    .filter((one, at) => {
      const before = given[at - 1];
      const isValue = !one.startsWith('-') && before?.includes('=') === false && isFilled(before);
      return start?.command !== undefined || !(isFilled(one) || isValue);
    })
    .map((one, at, all) =>
      isCommand(one, all[at - 1]) && !(start?.arguments && one === data?.folder) ? one : inData(one, data),
    );
}

function inData(one: string, data: DataFacts | undefined): string {
  const [, option = '', value = ''] = /^([\w-]+=)?(.*)$/.exec(one) ?? [];
  const below = belowData(value.replace(/^(\$\{source\}\/|\.\/)/, ''), data);
  return below === undefined ? one : `${option}${DATA}${below === '' ? '' : `/${below}`}`;
}

/** Undefined where the path leads elsewhere. */
function belowData(path: string, data: DataFacts | undefined): string | undefined {
  if (data === undefined) return undefined;
  const { folder, places } = data;
  if (places !== undefined)
    return places.some((one) => path === one || path.startsWith(`${one}/`)) ? path : undefined;
  return path === folder ? '' : path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : undefined;
}

type Fill = ScriptFacts['fills'][number];

/** Undefined where the data has no such part, and the script asks for none. */
function dataPath({ file, part, isRequired }: Fill, data: DataFacts | undefined): string | undefined {
  const below = file === undefined ? undefined : belowData(file, data);
  if (below !== undefined) return below === '' ? DATA : `${DATA}/${below}`;
  const split = part === undefined ? undefined : partOf(part.replace(PLACE_WORD, ''));
  const only = part === undefined ? undefined : onlyPart(part, split, data);
  if (only !== undefined) return `${DATA}/${only}`;
  if (file !== undefined && /\.\w{1,6}$/.test(file)) return `${DATA}/${file.replace(/^.*\//, '')}`;
  return split === undefined || split === 'train' || isRequired === true ? DATA : undefined;
}

const PLACE_WORD = /[-_]?(dir|path|root|folder|file|csv|jsonl?|parquet)$/;

/** The table or folder of the split, or the only table. */
function onlyPart(
  part: string,
  split: ReturnType<typeof partOf>,
  data: DataFacts | undefined,
): string | undefined {
  const isFile = /(file|csv|jsonl?|parquet)$/.test(part);
  const all = (isFile ? data?.tables : data?.folders) ?? [];
  const isOfSplit = (name: string): boolean =>
    split === undefined ? isFile : partOf(name.replace(/\.\w+$/, '')) === split;
  const [only, other] = all.filter(isOfSplit);
  return other === undefined ? only : undefined;
}

const TABLES = ['.csv', '.tsv', '.parquet', '.jsonl', '.ndjson', '.arrow', '.feather'];

/** A script that reads tar files, and nothing but such in the data. */
function areShards({ data, facts }: Project): boolean {
  const suffixes = [...(data?.suffixes ?? []), ...(data?.otherSuffixes ?? [])].filter(
    (one) => !/^\.(json|txt|md)$/.test(one),
  );
  return (
    facts.readsShards && suffixes.length > 0 && suffixes.every((one) => /(^|\.)(tar|tgz|tar\.gz)$/i.test(one))
  );
}

/** A sentence's beginning; undefined where shards read faster. */
export function whyUnpacked(project: Project): string | undefined {
  const { data, facts, script } = project;
  if (readsFiles(project)) return `${script} reads files`;
  if (data === undefined) return undefined;
  if (areShards(project)) return 'They are shards already';
  if (facts.readsShards) return undefined;
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

function unscored(project: Project): string[] {
  const { evaluation, script, job } = project;
  if (job !== undefined || evaluation === undefined || isEvaluated(project)) return [];
  return [
    `${evaluation.script} scores a model: ${leavesModel(project) ? '' : `have ${script} save it below $SM_MODEL_DIR, `}declare packing.split, such as { train: 0.9, validation: 0.1 }, and evaluation: { entryPoint: ${evaluation.script} } (docs/models.md)`,
  ];
}

/** What a person has to do before the script can train here. */
export function toDo(project: Project): string[] {
  const { script, facts, data, namesData, start } = project;
  const shared = givenSplit(project) === undefined ? sharing(channelsOf(project)) : [];
  const parts = lackingParts(project);
  return [
    ...(parts.length === 0
      ? []
      : [
          `${script} reads shards of ${parts.join(', ')}, which the data does not set apart: declare packing.split, such as { train: 0.9, ${parts[0]}: 0.1 }`,
        ]),
    ...(shared.length < 2
      ? []
      : [
          `the channels ${shared.join(', ')} have the same files: put those of each into a folder of its name`,
        ]),
    ...unscored(project),
    ...toAdd(project),
    ...(namesData && data !== undefined && !startWords(project).some((one) => one.includes(DATA))
      ? [
          `${script} reads ${(data.named ?? [data.folder]).map((one) => `"${one}"`).join(', ')} itself, which is elsewhere there: have it read ${inChannel(script, data)}`,
        ]
      : []),
    ...(start?.toDo ?? []),
    ...numbersToRead(project),
    ...(facts.saves
      ? []
      : [`${script} seems to save nothing, so that no model is left: add ${SAVING[facts.framework]}`]),
  ];
}

const themOf = (names: readonly string[]): string => (names.length === 1 ? 'it' : 'them');

function toAdd({ script, facts: { required, packages, unreadable }, start }: Project): string[] {
  const given = start?.arguments ?? start?.command ?? [];
  const lacking = required.filter((name) => !given.some((one) => one.split('=')[0] === name));
  const names = packages.join(', ');
  return [
    ...(unreadable === undefined || given.length > 0
      ? []
      : [
          `${script} takes its settings from ${unreadable}, which init does not read: name \${channel:data} and \${model} in training.arguments, or have it read SM_CHANNEL_DATA and SM_MODEL_DIR`,
        ]),
    ...(lacking.length === 0
      ? []
      : [`${script} requires ${lacking.join(', ')}: add ${themOf(lacking)} to arguments`]),
    ...(packages.length === 0
      ? []
      : [
          `${script} needs ${names}, which an image may lack: write ${themOf(packages)} into requirements.txt`,
        ]),
  ];
}

function numbersToRead({ script, facts, data }: Project): string[] {
  const name = facts.readsShards ? data?.labels.find((label) => !/^\d+$/.test(label)) : undefined;
  return !facts.numbersLabels || name === undefined
    ? []
    : [
        `${script} decodes labels as numbers, and the classes are names such as ${name}: add webdataset.handle_extension("cls", bytes.decode) to decode(), or name the folders by numbers`,
      ];
}

/** As code, or as the path that is the same on every host. */
function inChannel(script: string, { folder, named: [first = folder] = [] }: DataFacts): string {
  const below = first === folder ? '' : first;
  if (!/\.(py|ipynb)$/.test(script)) return path.posix.join('/opt/ml/input/data/data', below);
  const there = `os.environ.get("SM_CHANNEL_DATA", "${folder}")`;
  return below === '' ? there : `os.path.join(${there}, "${below}")`;
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
    ...(continues(project)
      ? ['  startFrom: current   # in $SM_CHANNEL_MODEL: the current model, from the second run on']
      : []),
    ...(isEvaluated(project) ? [objectiveLine(project.evaluation)] : []),
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

/** The command of the script, unless its start has it, and the places that the service knows. */
function filledWords(project: Project): string[] {
  const { facts, start } = project;
  const { subcommand, fills } = facts;
  const isGiven = subcommand === undefined || start?.arguments?.includes(subcommand) === true;
  return [...(isGiven ? [] : [word(subcommand)]), ...fills.flatMap((fill) => wordsFor(fill, project))];
}

function ofScript(project: Project): string[] {
  const { script, facts, start } = project;
  const strategy = start?.strategy ?? facts.strategy;
  const words = [...filledWords(project), ...startWords(project).map(word)];
  const command =
    start?.module === undefined
      ? start?.command && startWords(project).map(word)
      : ['python', '-m', word(start.module), ...words, ...settable(facts)];
  if (command !== undefined)
    return [
      `  strategy: single   # ${strategyHint('single')}`,
      `  command: [${command.join(', ')}]`,
      `  framework: ${facts.framework}`,
      ...defaultsOf(facts),
    ];
  return [
    `  strategy: ${strategy}   # ${strategyHint(strategy)}`,
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

/** A framework's command saves where it is declared, and a shell's in the folder of the source. */
function savingOf(project: Project): string[] {
  const { name, facts, start } = project;
  if (start?.savesThere) return [`  model: none   # what it saves stays in ${name}/runs/RUN/checkpoints/`];
  if (start?.command?.[0] !== 'bash' || facts.namesModelFolder) return savingOfScript(project);
  return [
    '  # TO DO: have it save below $SM_MODEL_DIR: what it saves in the folder of the source is gone at the end.',
  ];
}

function savingOfScript(project: Project): string[] {
  const { name, facts } = project;
  const isKept = facts.fills.some(({ argument, what }) => what === 'checkpoints' && OUTPUT.test(argument));
  return [
    ...(leavesModel(project) || isKept
      ? []
      : [
          `  workingDirectory: '\${checkpoints}'   # no argument for the model was found: files are saved where it runs`,
        ]),
    ...(leavesModel(project) ? [] : [`  model: none   # they stay in ${name}/runs/RUN/checkpoints/`]),
    ...resumeOf(facts),
    ...(facts.namesCheckpoints || facts.fills.some(({ what }) => what === 'checkpoints') || !facts.saves
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

const onlyConfig = (configs: readonly string[] = []): readonly string[] =>
  configs.length === 1 ? configs : [];

function wordsFor(fill: Fill, { data, configs }: Project): string[] {
  const { argument, what, file } = fill;
  const option = argument.startsWith('-') ? [word(argument)] : [];
  const below = file === undefined ? '' : `/${file}`;
  switch (what) {
    case 'data': {
      const place = dataPath(fill, data);
      return place === undefined ? [] : [...option, word(place)];
    }
    case 'config':
      return onlyConfig(configs).flatMap((config) => [...option, `'\${source}/${config}'`]);
    case 'switch':
      return option;
    case 'checkpoints':
      return [...option, `'\${checkpoints}${below}'`];
    case 'model':
      return [...option, `'\${model}${below}'`];
    case 'resume':
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
