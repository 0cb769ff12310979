/** What the text of a training script says of it. A guess, which the declaration shows for correction. */

export interface ScriptFacts {
  readonly framework: 'pytorch' | 'tensorflow';
  readonly strategy: 'single' | 'ddp' | 'ray' | 'multi-worker-mirrored';
  /** Arguments that the service has to fill: with the folder of the data, of checkpoints, of the model. */
  readonly fills: readonly Fill[];
  /** Defaults of its other arguments, as written. */
  readonly defaults: readonly (readonly [name: string, value: string])[];
  /** Arguments that it demands and that nothing here fills. */
  readonly required: readonly string[];
  readonly saves: boolean;
}

interface Fill {
  /** Such as `--data`; a word without dashes is positional. */
  readonly argument: string;
  readonly what: 'data' | 'checkpoints' | 'model' | 'resume';
  /** The file that a path ends with, such as model.pt. */
  readonly file?: string | undefined;
}

const ARGUMENT = /add_argument\(([^()]*(?:\([^()]*\)[^()]*)*)\)/g;
const NAMES = /^\s*["'](-{0,2}[\w-]+)["'](?:\s*,\s*["'](--[\w-]+)["'])?/;
/** One that names a place: a dataset may also be named by a word. */
const PLACE = /^[^-]|[-_]?(dir|path|root|folder)$/;
const DEFAULT = /default\s*=\s*(?:["']([^"']*)["']|([-\w.]+))/;

const KINDS: readonly (readonly [Fill['what'], RegExp])[] = [
  ['resume', /^(resume|resume[-_]from([-_]checkpoint)?)$/],
  ['checkpoints', /^(checkpoints?|ckpt|save)([-_](dir|path|folder))?$/],
  ['model', /^(model|out|output|export)[-_](dir|path|folder|file)$|^out(put)?$/],
  ['data', /^(data|dataset|images?|train|training|input)([-_]?(dir|path|root|folder|data))?$/],
];

export function readScript(text: string): ScriptFacts {
  const args = onePlaceForData([...text.matchAll(ARGUMENT)].flatMap(([, inside = '']) => argumentOf(inside)));
  return {
    framework:
      /^\s*(import|from)\s+(tensorflow|keras)\b/m.test(text) && !/^\s*(import|from)\s+torch\b/m.test(text)
        ? 'tensorflow'
        : 'pytorch',
    strategy: strategyOf(text),
    fills: args.flatMap(({ argument, what, file }) => (what === undefined ? [] : [{ argument, what, file }])),
    defaults: args.flatMap(({ argument, what, value }) =>
      what === undefined && value !== undefined ? [[argument, value] as const] : [],
    ),
    required: args.flatMap(({ argument, what, isRequired }) =>
      isRequired && (what === undefined || what === 'resume') ? [argument] : [],
    ),
    saves: /\bsave\w*\(|\bdump\(|safetensors|Trainer\(|Checkpoint/.test(text),
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
  const name = argument.replace(/^-+/, '');
  const [, quoted, bare] = DEFAULT.exec(inside) ?? [];
  const value = quoted ?? (bare === 'None' ? undefined : bare);
  const file = /\.\w{1,6}$/.test(quoted ?? '') ? quoted?.replace(/^.*\//, '') : undefined;
  const isRequired = demands(argument, inside, value !== undefined);
  return [{ argument, what: kindOf(name, inside), value, file, isRequired }];
}

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
