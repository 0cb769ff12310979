/** The declaration that `init` writes: what was found, with comments that say what to change. */
import { HYPERPARAMETERS } from '@tidewheel/declaration/script.ts';
import type { DataFacts } from './data.ts';
import { layoutLines } from './layout-notes.ts';
import type { ScriptFacts } from './script.ts';

export interface Project {
  readonly name: string;
  /** File name of the script, relative to the folder. */
  readonly script: string;
  readonly facts: ScriptFacts;
  readonly data: DataFacts | undefined;
  readonly requirements: boolean;
  /** The script reads the folder of the data by its name, and no argument says where it is. */
  readonly namesData: boolean;
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
    ...packing(project),
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

function packing(project: Project): string[] {
  const { data } = project;
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
      : `  accept: ${list(readsFiles(project) ? [...data.suffixes, ...data.otherSuffixes] : data.suffixes)}   # other files are rejected, with the reason in the report`,
    ...(data.layout === undefined ? [label] : layoutLines(data.layout)),
  ];
}

/** It gets a channel of files. */
export const readsFiles = ({ facts, namesData }: Project): boolean =>
  namesData || facts.fills.some(({ what }) => what === 'data');

/** What a person has to do before the script can train here. */
export function toDo({ script, facts, data, namesData }: Project): string[] {
  const { required } = facts;
  return [
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
} as const;

function training(project: Project): string[] {
  const { name, script, facts, requirements, namesData } = project;
  const words = facts.fills.flatMap(({ argument, what, file }) => wordsFor(argument, what, file));
  const leavesModel = facts.fills.some(({ what }) => what === 'model');
  return [
    'training:',
    `  strategy: ${facts.strategy}   # ${strategyHint(facts.strategy)}`,
    `  entryPoint: ${word(script)}`,
    `  framework: ${facts.framework}`,
    ...(requirements ? ['  # requirements.txt is installed on every host before the script starts.'] : []),
    ...(words.length === 0 ? [] : [`  arguments: [${[...words, ...settable(facts)].join(', ')}]`]),
    ...defaultsOf(facts),
    ...toDo(project).map((line) => `  # TO DO: ${line.replaceAll('\n', ' ')}.`),
    ...(readsFiles(project)
      ? [
          '  channels:',
          `    data: { s3: incoming/ }   # the files as they were dropped, in ${namesData ? '$SM_CHANNEL_DATA' : 'a folder'}; \${channel:train} has the shards`,
          '    # Those that packing rejects, or that come after the seal, are not among them.',
        ]
      : ['  # The script finds the shards in $SM_CHANNEL_TRAIN: tar files of the samples.']),
    ...(leavesModel
      ? []
      : [
          `  workingDirectory: '\${checkpoints}'   # no argument for the model was found: files are saved where it runs`,
          `  model: none   # they stay in ${name}/runs/RUN/checkpoints/`,
        ]),
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
