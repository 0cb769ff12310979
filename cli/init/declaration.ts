/** The declaration that `init` writes: what was found, with comments that say what to change. */
import type { DataFacts } from './data.ts';
import type { ScriptFacts } from './script.ts';

export interface Project {
  readonly name: string;
  /** File name of the script, relative to the folder. */
  readonly script: string;
  readonly facts: ScriptFacts;
  readonly data: DataFacts | undefined;
  readonly requirements: boolean;
}

/** Where `apply` and `drop` find source and data, relative to the declaration. Fields with x- are the user's own. */
const LOCAL_FIELD = 'x-local';

/** YAML of a word: quoted where it might be read as something else. */
const word = (text: string): string =>
  /^[A-Za-z_./][\w./-]*$/.test(text) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(text)
    ? text
    : `'${text.replaceAll("'", "''")}'`;
const list = (words: readonly string[]): string => `[${words.map(word).join(', ')}]`;

export function declarationText(project: Project): string {
  const { name, data } = project;
  return [
    '# Written by tidewheel init from what lies in this folder. Every field: docs/pipeline.md of Tidewheel.',
    '# tidewheel check says whether it is valid, tidewheel apply declares it.',
    `name: ${word(name)}`,
    `${LOCAL_FIELD}: { source: ., data: ${word(data?.folder ?? 'data')} }   # what apply uploads as the code, and drop as the data`,
    '',
    'settle: { quietSeconds: 60 }   # a run begins when nothing has arrived for so long',
    ...packing(data),
    ...training(project),
    'compute:',
    '  instanceTypes: [g5.xlarge, g4dn.xlarge, g6.xlarge]   # interchangeable; three or more find capacity best',
    '  nodes: 1',
    '  purchaseOption: spot-then-on-demand   # Spot while the deadline allows it',
    'limits:',
    '  deadlineHours: 24',
    '  budgetUsd: 10',
    '',
  ].join('\n');
}

function packing(data: DataFacts | undefined): string[] {
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
    `  accept: ${list(data.suffixes)}   # other files are rejected, with the reason in the report`,
    label,
  ];
}

function training({ name, script, facts, requirements }: Project): string[] {
  const words = facts.fills.flatMap(({ argument, what, file }) => wordsFor(argument, what, file));
  const hasData = facts.fills.some(({ what }) => what === 'data');
  const leavesModel = facts.fills.some(({ what }) => what === 'model');
  return [
    'training:',
    `  strategy: ${facts.strategy}   # ${strategyHint(facts.strategy)}`,
    `  entryPoint: ${word(script)}`,
    `  framework: ${facts.framework}`,
    ...(requirements ? ['  # requirements.txt is installed on every host before the script starts.'] : []),
    ...(words.length === 0 ? [] : [`  arguments: [${words.join(', ')}]`]),
    ...defaultsOf(facts),
    ...(hasData
      ? [
          '  channels:',
          '    data: { s3: incoming/ }   # the files as they were dropped, in a folder; ${channel:train} has the shards',
        ]
      : ['  # The script finds the shards in $SM_CHANNEL_TRAIN: tar files of the samples.']),
    ...(leavesModel
      ? []
      : [
          `  workingDirectory: '\${checkpoints}'   # no argument for the model was found: files are saved where it runs`,
          `  model: none   # they stay in ${name}/runs/RUN/checkpoints/`,
        ]),
    ...(facts.fills.some(({ what }) => what === 'checkpoints') || !facts.saves
      ? []
      : [
          '  # To survive an interruption it has to save now and then to ${checkpoints}: tidewheel try shows what is lost.',
        ]),
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

function defaultsOf({ defaults }: ScriptFacts): string[] {
  const shown = defaults.filter(([name]) => name.startsWith('--')).slice(0, 6);
  if (shown.length === 0) return [];
  return [
    `  # Its defaults: ${shown.map(([name, value]) => `${name} ${value}`).join(', ')}. Add to arguments what differs.`,
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
