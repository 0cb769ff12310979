/** What the text of a training script says of it. A guess, which the declaration shows for correction. */
import { own } from '@tidewheel/kit/own-property.ts';
import { unreadableArguments, withDeclared } from './declared-arguments.ts';
import known from './frameworks.json' with { type: 'json' };

export interface ScriptFacts {
  readonly framework: 'pytorch' | 'tensorflow' | 'sklearn' | 'xgboost';
  /** Nothing that it imports computes on a GPU. */
  readonly isForCpus: boolean;
  /** Packages that it imports and that an image may lack, as pip calls them. */
  readonly packages: readonly string[];
  readonly strategy: 'single' | 'ddp' | 'ray' | 'multi-worker-mirrored';
  /** Arguments that the service has to fill: with the folder of the data, of checkpoints, of the model. */
  readonly fills: readonly Fill[];
  /** The first word, of a script with several commands. */
  readonly subcommand?: string;
  /** Defaults of its other arguments, as written. */
  readonly defaults: readonly (readonly [name: string, value: string])[];
  /** Arguments that it demands and that nothing here fills. */
  readonly required: readonly string[];
  /** What it takes settings from that cannot be read here, where it takes no argument that can. */
  readonly unreadable: string | undefined;
  readonly saves: boolean;
  /** It saves where SageMaker says. */
  readonly namesModelFolder: boolean;
  /** It saves where a later attempt finds it. */
  readonly namesCheckpoints: boolean;
  /** Those of the variables SM_CHANNEL_… that it names, in lower case. */
  readonly channels: readonly string[];
  /** It reads packed shards, not files. */
  readonly readsShards: boolean;
  /** Its reader of shards takes each label for a number. */
  readonly numbersLabels: boolean;
}

interface Fill {
  /** Such as `--data`; a word without dashes is positional. */
  readonly argument: string;
  readonly what: 'data' | 'checkpoints' | 'model' | 'resume' | 'config' | 'switch';
  /** The file that a path ends with, such as model.pt; of data, its whole path. */
  readonly file?: string | undefined;
  /** The argument's name without dashes, where it means a file or a part of the data. */
  readonly part?: string;
  readonly isRequired?: true;
}

const { onGpus: ON_GPUS, tabular: TABULAR } = known;
/** The first of these is the one that it trains with. The image of sklearn stands for all that is without a GPU. */
const FRAMEWORKS: readonly (readonly [ScriptFacts['framework'], readonly string[]])[] = [
  ['pytorch', ['torch']],
  ['tensorflow', ['tensorflow']],
  ['pytorch', ON_GPUS.filter((name) => name !== 'tensorflow' && name !== 'keras')],
  ['tensorflow', ['keras']],
  ['xgboost', ['xgboost']],
  ['sklearn', TABULAR],
];
/** By the module. An image of AWS may have some of them. */
const PACKAGES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(known.packages.map((name) => [name, name.replaceAll('_', '-')])),
  ...known.packagesOfOtherNames,
};
const CHANNEL = /\bSM_CHANNEL_([A-Z0-9_]+)/g;
const SET_BY_SERVICE = /\bSM_[A-Z]/;

/** An argument as argparse, click and typer declare it. */
const ARGUMENT = /\b(?:add_argument|option)\(([^()]*(?:\([^()]*\)[^()]*)*)\)/g;
const NAMES = /^\s*["'](-{0,2}[\w-]+)["'](?:\s*,\s*["'](--[\w-]+)["'])?/;
/** One that names a place: a dataset may also be named by a word. */
const PLACE = /^[^-]|[-_]?(dir|path|root|folder|file|csv|jsonl?|parquet)$/;
const DEFAULT = /default\s*=\s*(?:["']([^"']*)["']|([-\w.]+))/;

/** Arguments for whatever a script makes. */
export const OUTPUT = /^-*(out|output)([-_](dir|path|folder))?$/;
const KINDS: readonly (readonly [Fill['what'], RegExp])[] = [
  ['resume', /^(resume|resume[-_]from([-_]checkpoint)?)$/],
  ['config', /^(config|cfg)([-_]?(file|path))?$/],
  ['checkpoints', /^(checkpoints?|ckpt|save)([-_](dir|path|folder))?$/],
  ['model', /^(save[-_])?(model|out|output|export)([-_]save)?[-_](dir|path|folder|file)$|^out(put)?$/],
  [
    'data',
    /^(data|dataset|images?|train|training|input|csv)([-_]?(data|images?|set))?([-_]?(dir|path|root|folder|file|csv|jsonl?|parquet))?$/,
  ],
  [
    'data',
    /^(val|valid|validation|eval|dev|test)([-_]?(data|images?|set))?[-_]?(data|dir|path|root|folder|file|csv|jsonl?|parquet)$/,
  ],
];

const RESUMES =
  /get_last_checkpoint|resume_from_checkpoint|find_latest_checkpoint|latest_checkpoint\(|start_epoch|resum(e|ing)\b|BackupAndRestore/i;
const LOADS = /\bload\w*\(|\brestore\w*\(|get_last_checkpoint|BackupAndRestore/;

/** What saves a model, wherever it stands. */
const SAVES =
  /\bsave\w*\(|\bto_disk\(|\b(ultralytics|mmengine|spacy|detectron2)\b|\bdump\(|write_bytes\(|safetensors|\bTrainer\b|Checkpoint|\.to_(csv|parquet|pickle)\(/;
/** What may write any file, also a model's where the script names the folder for it. */
const WRITES =
  /\.write_text\(|\bexport\w*\(|\bcopy(file|fileobj|tree|2)\(|\bshutil\.\w+\(|\bos\.(rename|replace)\(|\bopen\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*?(?<=[(,]\s*)(?:mode\s*=\s*)?["'][wax][bt+]*["']/;

/** Without a folder for checkpoints, the one for what it makes has to outlive the host. */
function keptWhereReadBack(args: readonly Argument[], text: string): readonly Argument[] {
  const readsBack = RESUMES.test(text) && LOADS.test(text);
  if (!readsBack || args.some(({ what }) => what === 'checkpoints')) return args;
  return args.map((each) =>
    each.what === 'model' && OUTPUT.test(each.argument) ? { ...each, what: 'checkpoints' } : each,
  );
}

/** @param required the text of requirements.txt or the like: modules that are not here may import what it names */
export function readScript(text: string, required = ''): ScriptFacts {
  const imported = importsOf(text);
  for (const name of ON_GPUS) if (new RegExp(`^["'\\s]*${name}\\b`, 'm').test(required)) imported.add(name);
  const framework = FRAMEWORKS.find(([, modules]) => modules.some((name) => imported.has(name)))?.[0];
  const isTabular = framework === 'sklearn' || framework === 'xgboost';
  const command = COMMAND.exec(text);
  const args = keptWhereReadBack(onePlaceForData(argumentsIn(text, command)), text);
  const namesModelFolder = /\bSM_MODEL_DIR\b|\/opt\/ml\/model\b/.test(text);
  return {
    framework: framework ?? 'pytorch',
    isForCpus: framework !== undefined && !ON_GPUS.some((name) => imported.has(name)),
    packages: [...imported].flatMap((name) =>
      name === framework || (isTabular && known.inImagesWithoutGpu.includes(name))
        ? []
        : (own(PACKAGES, name) ?? []),
    ),
    strategy: strategyOf(text),
    ...(command !== null && { subcommand: command[2] ?? 'fit' }),
    fills: args.flatMap((each) => fillOf(each)),
    defaults: args.flatMap(({ argument, what, value }) =>
      what === undefined && value !== undefined ? [[argument, value] as const] : [],
    ),
    required: args.flatMap(({ argument, what, isRequired }) =>
      isRequired && (what === undefined || what === 'resume') ? [argument] : [],
    ),
    unreadable: unreadableArguments(text, args.length),
    namesModelFolder,
    // Not in a comment.
    namesCheckpoints: /^[^#\n]*(?:\bTIDEWHEEL_CHECKPOINT_DIR\b|\/opt\/ml\/checkpoints\b)/m.test(text),
    channels: [...new Set([...text.matchAll(CHANNEL)].map(([, name = '']) => name.toLowerCase()))],
    readsShards: /\bwebdataset\b|\btarfile\b|\.tar\b|TFRecordDataset|\bstreaming\b/.test(text),
    numbersLabels: /WebDataset\b[^]*\.decode\((?![^)]*handle_extension)|load_dataset\(\s*["']webdataset/.test(
      text,
    ),
    saves: SAVES.test(text) || (namesModelFolder && WRITES.test(text)),
  };
}

/** The packages at the top of what it imports. */
const importsOf = (text: string): Set<string> =>
  new Set(
    [...text.matchAll(/^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import\b|import[ \t]+([\w., \t]+))/gm)].flatMap(
      ([, from, names = '']) =>
        (from ?? names).split(',').map((name) => name.trim().split(/[.\s]/, 1)[0] ?? ''),
    ),
  );

/** A file, or the data of one part of a split. */
const PART = /^(train|val|valid|validation|eval|dev|test)|(file|csv|jsonl?|parquet)$/;

function fillOf({ argument, what, value, file, isRequired }: Argument): Fill[] {
  if (what === undefined || (what === 'config' && value)) return [];
  const name = argument.replace(/^-+/, '');
  const isPart = what === 'data' && argument.startsWith('-') && PART.test(name);
  return [{ argument, what, file, ...(isPart && { part: name, ...(isRequired && { isRequired }) }) }];
}

function argumentsIn(text: string, command: readonly string[] | null): readonly Argument[] {
  const written = withDeclared(command === null ? text : withoutOtherCommands(text, command[1] ?? ''));
  const fields = PARSED_FIELDS.test(text) ? [...text.matchAll(FIELD)].flatMap(fieldOf) : [];
  return [
    ...[...written.matchAll(ARGUMENT)].flatMap(([, inside = '']) => argumentOf(inside)),
    ...fields,
    ...(/\bTrainingArguments\b/.test(text) && fields.length > 0 ? ofTrainer(text) : []),
  ];
}

/** `train = subparsers.add_parser("train")`, or Lightning's own command line. */
const COMMAND = /(\w+)\s*=\s*\w+\.add_parser\(\s*["'](train|training|fit)["']|\bLightningCLI\(/;

/** What other commands take is no argument of this one. */
function withoutOtherCommands(text: string, own: string): string {
  const others = [...text.matchAll(/(\w+)\s*=\s*\w+\.add_parser\(/g)].flatMap(([, name = '']) =>
    name === own ? [] : [name],
  );
  return others.length === 0
    ? text
    : text.replaceAll(new RegExp(`\\b(${others.join('|')})\\.add_argument\\(`, 'g'), 'other(');
}

const PARSED_FIELDS = /\b(HfArgumentParser|TrlParser|tyro\.cli|ArgumentParser\(\w*[Cc]onfig)/;
/** A field of a dataclass: `name: Optional[str] = field(default=None, …)`. */
const FIELD = /^[ \t]+(\w+)[ \t]*:[ \t]*[\w[\], .|"']+?(?:=[ \t]*field\(([^()]*(?:\([^()]*\)[^()]*)*)\))/gm;

const fieldOf = ([, name = '', inside = '']: readonly string[]): Argument[] =>
  argumentOf(`"--${name}", ${inside}${/\bdefault(_factory)?\s*=/.test(inside) ? '' : ', required=True'}`);

/** The Trainer of Hugging Face saves, and is resumed, where its output goes. */
const ofTrainer = (text: string): Argument[] => [
  { argument: '--output_dir', what: 'checkpoints', value: undefined, file: undefined, isRequired: true },
  ...(/\.do_train\b/.test(text)
    ? [
        {
          argument: '--do_train',
          what: 'switch' as const,
          value: undefined,
          file: undefined,
          isRequired: true,
        },
      ]
    : []),
];

interface Argument {
  readonly argument: string;
  readonly what: Fill['what'] | undefined;
  readonly value: string | undefined;
  readonly file: string | undefined;
  readonly isRequired: boolean;
}

function argumentOf(inside: string): Argument[] {
  const [, short = '', long] = NAMES.exec(inside) ?? [];
  const argument = long ?? short;
  if (argument === '') return [];
  // The service sets its default, and no place has to be filled.
  if (SET_BY_SERVICE.test(inside))
    return [{ argument, what: undefined, value: undefined, file: undefined, isRequired: false }];
  const name = argument.replace(/^-+/, '');
  const [, quoted, bare = 'None'] = DEFAULT.exec(inside) ?? [];
  const value = quoted ?? (/^(None|os\..*)$/.test(bare) ? undefined : bare);
  const isRequired = demands(argument, inside, value !== undefined);
  const what = kindOf(name, inside);
  return [{ argument, what, value, file: what === 'data' ? pathIn(quoted) : fileIn(quoted), isRequired }];
}

/** Below the project; of what lies elsewhere the name of the file. */
const pathIn = (path = ''): string | undefined =>
  path === '' || /^(\/|~|\.\.|\w+:)/.test(path) ? fileIn(path) : path.replace(/^(\.\/)+|\/$/g, '');

const fileIn = (path = ''): string | undefined =>
  /\.\w{1,6}$/.test(path) ? path.replace(/^.*\//, '') : undefined;

const kindOf = (name: string, inside: string): Fill['what'] | undefined =>
  /\bchoices\s*=|\baction\s*=|\btype\s*=\s*(int|float|bool)\b|\bis_flag\b/.test(inside)
    ? undefined
    : KINDS.find(([, pattern]) => pattern.test(name))?.[0];

const demands = (argument: string, inside: string, hasDefault: boolean): boolean =>
  argument.startsWith('-')
    ? /\brequired\s*=\s*True/.test(inside)
    : !hasDefault && !/\bnargs\s*=\s*["'][?*]/.test(inside);

/** `--dataset cifar10 --dataroot DIR`: where one of several names a place, the others are words. */
function onePlaceForData(args: readonly Argument[]): readonly Argument[] {
  const isPlace = ({ argument, what }: Argument): boolean => what === 'data' && PLACE.test(argument);
  if (!args.some(isPlace)) return args;
  return args.map((each) => (each.what === 'data' && !isPlace(each) ? { ...each, what: undefined } : each));
}

/** Whether the script names the folder or file itself, as `"images"`, `'../images'`, `"images/train"` or `"/x/train.csv"`. */
export function namesFolder(text: string, folder: string): boolean {
  const escaped = folder.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
  const before = /\.\w+$/.test(folder) ? String.raw`([^"'\n]*/)?` : String.raw`(\.{1,2}/)*`;
  return new RegExp(`["']${before}${escaped}(/[^"'\n]*)?["']`).test(text);
}

/** Without the places that count only where SageMaker's variable is not set. */
export const withoutDefaults = (text: string): string =>
  text.replaceAll(
    /(\bSM_\w+["'])\s*(?:,|\]\s*if\b[^"'\n]*["']SM_\w+["'][^"'\n]*\belse\b|\)\s*or\b)\s*(?:default\s*=\s*)?(?:[\w.]+\(\s*)?["'][^"'\n]*["']/g,
    '$1',
  );

function strategyOf(text: string): ScriptFacts['strategy'] {
  if (/^\s*(import|from)\s+ray\b/m.test(text)) return 'ray';
  if (
    /DistributedDataParallel|init_process_group|\bAccelerator\(|pytorch_lightning|import lightning/.test(text)
  )
    return 'ddp';
  return /MultiWorkerMirroredStrategy/.test(text) ? 'multi-worker-mirrored' : 'single';
}
