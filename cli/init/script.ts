/** What the text of a training script says of it. A guess, which the declaration shows for correction. */

export interface ScriptFacts {
  readonly framework: 'pytorch' | 'tensorflow' | 'sklearn' | 'xgboost';
  readonly strategy: 'single' | 'ddp' | 'ray' | 'multi-worker-mirrored';
  /** Arguments that the service has to fill: with the folder of the data, of checkpoints, of the model. */
  readonly fills: readonly Fill[];
  /** Defaults of its other arguments, as written. */
  readonly defaults: readonly (readonly [name: string, value: string])[];
  /** Arguments that it demands and that nothing here fills. */
  readonly required: readonly string[];
  readonly saves: boolean;
  /** It saves where SageMaker says. */
  readonly namesModelFolder: boolean;
  /** Those of the variables SM_CHANNEL_… that it names, in lower case. */
  readonly channels: readonly string[];
  /** It reads packed shards, not files. */
  readonly readsShards: boolean;
}

interface Fill {
  /** Such as `--data`; a word without dashes is positional. */
  readonly argument: string;
  readonly what: 'data' | 'checkpoints' | 'model' | 'resume';
  /** The file that a path ends with, such as model.pt. */
  readonly file?: string | undefined;
}

/** The first that a script imports is the one that it trains with. */
const FRAMEWORKS: readonly (readonly [ScriptFacts['framework'], RegExp])[] = [
  ['pytorch', /^\s*(import|from)\s+(torch|transformers|lightning|pytorch_lightning|accelerate)\b/m],
  ['tensorflow', /^\s*(import|from)\s+(tensorflow|keras)\b/m],
  ['xgboost', /^\s*(import|from)\s+xgboost\b/m],
  ['sklearn', /^\s*(import|from)\s+sklearn\b/m],
];
const CHANNEL = /\bSM_CHANNEL_([A-Z0-9_]+)/g;
const SET_BY_SERVICE = /\bSM_[A-Z]/;

const ARGUMENT = /add_argument\(([^()]*(?:\([^()]*\)[^()]*)*)\)/g;
const NAMES = /^\s*["'](-{0,2}[\w-]+)["'](?:\s*,\s*["'](--[\w-]+)["'])?/;
/** One that names a place: a dataset may also be named by a word. */
const PLACE = /^[^-]|[-_]?(dir|path|root|folder)$/;
const DEFAULT = /default\s*=\s*(?:["']([^"']*)["']|([-\w.]+))/;

/** Arguments for whatever a script makes. */
export const OUTPUT = /^-*(out|output)([-_](dir|path|folder))?$/;
const KINDS: readonly (readonly [Fill['what'], RegExp])[] = [
  ['resume', /^(resume|resume[-_]from([-_]checkpoint)?)$/],
  ['checkpoints', /^(checkpoints?|ckpt|save)([-_](dir|path|folder))?$/],
  ['model', /^(model|out|output|export)[-_](dir|path|folder|file)$|^out(put)?$/],
  ['data', /^(data|dataset|images?|train|training|input)([-_]?(dir|path|root|folder|data))?$/],
];

const RESUMES =
  /get_last_checkpoint|resume_from_checkpoint|find_latest_checkpoint|latest_checkpoint\(|start_epoch|resum(e|ing)\b|BackupAndRestore/i;
const LOADS = /\bload\w*\(|\brestore\w*\(|get_last_checkpoint|BackupAndRestore/;

/** Without a folder for checkpoints, the one for what it makes has to outlive the host. */
function keptWhereReadBack(args: readonly Argument[], text: string): readonly Argument[] {
  const readsBack = RESUMES.test(text) && LOADS.test(text);
  if (!readsBack || args.some(({ what }) => what === 'checkpoints')) return args;
  return args.map((each) =>
    each.what === 'model' && OUTPUT.test(each.argument) ? { ...each, what: 'checkpoints' } : each,
  );
}

export function readScript(text: string): ScriptFacts {
  const found = [...text.matchAll(ARGUMENT)].flatMap(([, inside = '']) => argumentOf(inside));
  const args = keptWhereReadBack(onePlaceForData(found), text);
  return {
    framework: FRAMEWORKS.find(([, modules]) => modules.test(text))?.[0] ?? 'pytorch',
    strategy: strategyOf(text),
    fills: args.flatMap(({ argument, what, file }) => (what === undefined ? [] : [{ argument, what, file }])),
    defaults: args.flatMap(({ argument, what, value }) =>
      what === undefined && value !== undefined ? [[argument, value] as const] : [],
    ),
    required: args.flatMap(({ argument, what, isRequired }) =>
      isRequired && (what === undefined || what === 'resume') ? [argument] : [],
    ),
    namesModelFolder: /\bSM_MODEL_DIR\b|\/opt\/ml\/model\b/.test(text),
    channels: [...new Set([...text.matchAll(CHANNEL)].map(([, name = '']) => name.toLowerCase()))],
    readsShards: /\bwebdataset\b|\btarfile\b|\.tar\b|TFRecordDataset|\bstreaming\b/.test(text),
    saves:
      /\bsave\w*\(|\bto_disk\(|\b(ultralytics|mmengine|spacy|detectron2)\b|\bdump\(|safetensors|Trainer\(|Checkpoint/.test(
        text,
      ),
  };
}

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
  return [{ argument, what: kindOf(name, inside), value, file: fileIn(quoted), isRequired }];
}

const fileIn = (path = ''): string | undefined =>
  /\.\w{1,6}$/.test(path) ? path.replace(/^.*\//, '') : undefined;

const kindOf = (name: string, inside: string): Fill['what'] | undefined =>
  /\bchoices\s*=/.test(inside) ? undefined : KINDS.find(([, pattern]) => pattern.test(name))?.[0];

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

/** Whether the script names the folder itself, as `"images"`, `'./images'` or `"images/train"`. */
export function namesFolder(text: string, folder: string): boolean {
  const escaped = folder.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
  return new RegExp(`["'](\\./)?${escaped}(/[^"'\n]*)?["']`).test(text);
}

function strategyOf(text: string): ScriptFacts['strategy'] {
  if (/^\s*(import|from)\s+ray\b/m.test(text)) return 'ray';
  if (
    /DistributedDataParallel|init_process_group|\bAccelerator\(|pytorch_lightning|import lightning/.test(text)
  )
    return 'ddp';
  return /MultiWorkerMirroredStrategy/.test(text) ? 'multi-worker-mirrored' : 'single';
}
