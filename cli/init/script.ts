/** What the text of a training script says of it. A guess, which the declaration shows for correction. */

export interface ScriptFacts {
  readonly framework: 'pytorch' | 'tensorflow';
  readonly strategy: 'single' | 'ddp' | 'ray' | 'multi-worker-mirrored';
  /** Arguments that the service has to fill: with the folder of the data, of checkpoints, of the model. */
  readonly fills: readonly Fill[];
  /** Defaults of its other arguments, as written. */
  readonly defaults: readonly (readonly [name: string, value: string])[];
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
const DEFAULT = /default\s*=\s*(?:["']([^"']*)["']|([-\w.]+))/;

const KINDS: readonly (readonly [Fill['what'], RegExp])[] = [
  ['resume', /^(resume|resume[-_]from([-_]checkpoint)?)$/],
  ['checkpoints', /^(checkpoints?|ckpt|save)([-_](dir|path|folder))?$/],
  ['model', /^(model|out|output|export)[-_](dir|path|folder|file)$|^out(put)?$/],
  ['data', /^(data|dataset|images?|train|training|input)([-_]?(dir|path|root|folder|data))?$/],
];

export function readScript(text: string): ScriptFacts {
  const args = [...text.matchAll(ARGUMENT)].flatMap(([, inside = '']) => argumentOf(inside));
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
    saves: /\b(torch\.save|save_pretrained|save_model|\.save_weights|\.save\(|safetensors|Trainer\()/.test(
      text,
    ),
  };
}

function argumentOf(inside: string) {
  const [, short = '', long] = NAMES.exec(inside) ?? [];
  const argument = long ?? short;
  if (argument === '') return [];
  const name = argument.replace(/^-+/, '');
  const what = KINDS.find(([, pattern]) => pattern.test(name))?.[0];
  const [, quoted, bare] = DEFAULT.exec(inside) ?? [];
  const value = quoted ?? (bare === 'None' ? undefined : bare);
  const file = /\.\w{1,6}$/.test(quoted ?? '') ? quoted?.replace(/^.*\//, '') : undefined;
  return [{ argument, what, value, file }];
}

function strategyOf(text: string): ScriptFacts['strategy'] {
  if (/^\s*(import|from)\s+ray\b/m.test(text)) return 'ray';
  if (
    /DistributedDataParallel|init_process_group|\bAccelerator\(|pytorch_lightning|import lightning/.test(text)
  )
    return 'ddp';
  return /MultiWorkerMirroredStrategy/.test(text) ? 'multi-worker-mirrored' : 'single';
}
