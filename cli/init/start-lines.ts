/** What starts a training that no .py file starts by itself: a notebook, a shell script, a Makefile, a package, a configuration. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { own } from '@tidewheel/kit/own-property.ts';
import * as z from 'zod';
import known from './frameworks.json' with { type: 'json' };
import type { ScriptFacts } from './script.ts';

export interface Start {
  /** Where it was found, relative to the project's folder. */
  readonly from: string;
  /** A script of the project, whose text says what is trained. */
  readonly script?: string;
  /** It is started as this module of a package. */
  readonly module?: string;
  /** What the script or module gets, as it was written. */
  readonly arguments?: readonly string[];
  /** The words of `training.command`, where a script and arguments do not say all. */
  readonly command?: readonly string[];
  readonly strategy?: ScriptFacts['strategy'];
  /** Packages that the command needs. */
  readonly packages?: readonly string[];
  /** The command saves below the folder that outlives the host. */
  readonly savesThere?: true;
  readonly toDo?: readonly string[];
}

const KNOWN = z
  .object({
    configurations: z.array(
      z.object({
        names: z.string(),
        has: z.array(z.string()),
        tool: z.string().optional(),
        command: z.array(z.string()),
        parts: z.record(z.string(), z.string()).optional(),
        packages: z.array(z.string()),
        toDo: z.array(z.object({ has: z.string(), text: z.string() })).optional(),
      }),
    ),
  })
  .parse(known);

const SHELL = /\.(sh|bash)$/;
const OF_LINES = /(^|\/)(GNUm|M|m)akefile$|(^|\/)(dvc\.yaml|[Jj]ustfile|Dockerfile)$|\.(sh|bash)$/;
const MOST_FILES = 100;

/** @param names of the project's files. @param wanted one of them; else all are looked at */
export async function startsIn(
  folder: string,
  names: readonly string[],
  wanted?: string,
): Promise<readonly Start[]> {
  const found: Start[] = [];
  const looked = wanted === undefined ? names.filter(mayStart).slice(0, MOST_FILES) : [wanted];
  for (const name of looked) {
    const text = await readFile(path.join(folder, name), 'utf8');
    found.push(...startsOf(name, text, names, wanted !== undefined));
  }
  return found.map((start) => ({
    ...start,
    ...(start.arguments && {
      arguments: start.arguments.map((word, at, all) => inSource(word, all[at - 1], names)),
    }),
    ...(start.command && {
      command: start.command.map((word, at, all) => inSource(word, all[at - 1], names)),
    }),
  }));
}

/** A bare word that is no value of an option names no path. */
export const isCommand = (word: string, before: string | undefined): boolean =>
  !/[./=]/.test(word) && before?.startsWith('-') !== true;

/** The script may run in another folder than the source. */
function inSource(word: string, before: string | undefined, names: readonly string[]): string {
  if (isCommand(word, before)) return word;
  const [, option = '', value = ''] = /^([\w-]+=)?(.*)$/.exec(word) ?? [];
  const place = path.posix.normalize(value).replace(/\/$/, '');
  const isThere =
    value !== '' && place !== '.' && names.some((name) => name === place || name.startsWith(`${place}/`));
  return isThere ? `${option}\${source}/${place}` : word;
}

const mayStart = (name: string): boolean => OF_LINES.test(name) || /\.(ipynb|cfg|ya?ml|py)$/.test(name);

function startsOf(name: string, text: string, names: readonly string[], isMeant: boolean): readonly Start[] {
  if (OF_LINES.test(name)) return ofLines(name, text, names, isMeant);
  if (name.endsWith('.ipynb')) return isMeant || TRAINS_IN_CELLS.test(text) ? [ofNotebook(name)] : [];
  return ofConfiguration(name, text, names);
}

const TRAINS_IN_CELLS = /\b(optimizer|epochs?)\b|\.backward\(|\.fit\(|\btrain\(|Trainer\(/;

/** IPython starts a notebook as a script: its lines reach the log, and it has the working directory. */
const ofNotebook = (name: string): Start => ({
  from: name,
  script: name,
  command: ['python', '-m', 'IPython', '--colors=nocolor', `\${source}/${name}`],
  packages: ['ipython', 'nbformat'],
});

export const startOfModule = (script: string, module: string, args: readonly string[] = []): Start => ({
  from: script,
  script,
  module,
  arguments: args,
});

// Lines of shells and of programs that run such.

function ofLines(name: string, text: string, names: readonly string[], isMeant: boolean): readonly Start[] {
  const at = path.posix.dirname(name);
  const lines = text
    .replaceAll(/\\\r?\n\s*/g, ' ')
    .split(/\r?\n/)
    .map(commandIn);
  const starts = lines.flatMap((words) => ofWords(words, { name, names, at }) ?? []);
  const programs = new Set(starts.map(({ script, command }) => script ?? command?.join(' ')));
  const [only] = starts;
  const isShell = SHELL.test(name);
  // Several lines, or one that the shell has to fill, are for the shell.
  if (only !== undefined && programs.size === 1 && starts.length === 1 && !needsShell(only)) return [only];
  if (!isShell || (starts.length === 0 && !isMeant)) return starts.filter((one) => !needsShell(one));
  const script = programs.size === 1 ? only?.script : undefined;
  return [{ from: name, ...(script !== undefined && { script }), command: ['bash', name] }];
}

const needsShell = ({ arguments: args = [], command = [] }: Start): boolean =>
  [...args, ...command].some((word) => /[$`|<>;&*]/.test(word.replace(/^\$\{source\}/, '')));

/** The words of a line that may start a program; none for a comment. */
function commandIn(line: string): readonly string[] {
  const list = /^\s*(?:CMD|ENTRYPOINT)\s*\[(.*)\]/.exec(line)?.[1];
  const plain = line.replace(/^\s*(?:(?:-\s+)?cmd:|CMD|ENTRYPOINT)\s+/, '').replace(/^[\t ]*[@-]?/, '');
  if (plain.startsWith('#')) return [];
  const words = [
    ...(list?.replaceAll(',', ' ') ?? plain).matchAll(/"([^"]*)"|'([^']*)'|((?:[^\s"']|"[^"]*"|'[^']*')+)/g),
  ].map(([, double, single, bare]) => double ?? single ?? (bare ?? '').replaceAll(/["']/g, ''));
  const first = words.findIndex((word) => !/^\w+=|^(exec|time|nohup|env|uv|poetry|pipenv|run)$/.test(word));
  return first < 0 ? [] : words.slice(first);
}

interface Around {
  /** The file that has the line. */
  readonly name: string;
  readonly names: readonly string[];
  /** Its folder. */
  readonly at: string;
}

const LAUNCHERS: Readonly<Record<string, ScriptFacts['strategy']>> = {
  torchrun: 'ddp',
  'torch.distributed.run': 'ddp',
  'torch.distributed.launch': 'ddp',
  accelerate: 'ddp',
  deepspeed: 'ddp',
};
/** Programs of frameworks that train. */
const PROGRAMS =
  /^(yolo|axolotl|tune|llamafactory-cli|spacy|mim|fairseq-train|onmt_train|nnUNetv2_train|litgpt|marian)$/;

/** Undefined where the words start no training. */
function ofWords(words: readonly string[], around: Around): Start | undefined {
  const [program = '', ...rest] = words;
  if (PROGRAMS.test(program) && rest.some((word) => /train|fit|run|data/.test(word)))
    return { from: around.name, command: words };
  const isPython = /^(\$\(?\{?PYTHON\}?\)?|python3?(\.\d+)?)$/.test(program);
  const strategy = own(LAUNCHERS, isPython && rest[0] === '-m' ? (rest[1] ?? '') : program);
  return strategy === undefined && !isPython ? undefined : ofPythonWords(rest, strategy, around);
}

function ofPythonWords(
  words: readonly string[],
  strategy: Start['strategy'],
  around: Around,
): Start | undefined {
  const module = words.indexOf('-m');
  const file = words.findIndex((word) => word.endsWith('.py') && !word.startsWith('-'));
  if (strategy === undefined && module >= 0 && (file < 0 || module < file))
    return ofModuleWords(words.slice(module + 1), around);
  const { name, names, at } = around;
  const given = words[file] ?? '';
  const places = [given, path.posix.join(at, given)].map((one) => path.posix.normalize(one));
  const script = places.find((one) => names.includes(one));
  if (script === undefined) return undefined;
  return { from: name, script, arguments: words.slice(file + 1), ...(strategy && { strategy }) };
}

function ofModuleWords(
  [named = '', ...words]: readonly string[],
  { name, names }: Around,
): Start | undefined {
  const below = named.replaceAll('.', '/');
  const places = [`${below}.py`, `${below}/__main__.py`].flatMap((one) => [one, `src/${one}`]);
  const script = names.find((one) => places.includes(one));
  return script === undefined ? undefined : { ...startOfModule(script, named, words), from: name };
}

// Configurations of a framework's own command.

const FILE = /\bFILE\b/;

function ofConfiguration(name: string, text: string, names: readonly string[]): readonly Start[] {
  const found = KNOWN.configurations.find(
    (one) => new RegExp(one.names).test(name) && one.has.every((each) => new RegExp(each, 'm').test(text)),
  );
  if (found === undefined) return [];
  const { parts = {}, tool, toDo = [] } = found;
  const own = names.find((one) => one === tool || one.endsWith(`/${tool}`));
  const words = found.command.map((word) => word.replace(FILE, name));
  // Files of the data, whatever the configuration names: they are elsewhere there.
  const files = Object.entries(parts).flatMap(([option, wanted]) => {
    const [only, other] = names.filter((one) => path.posix.basename(one) === wanted);
    return only === undefined || other !== undefined ? [] : [option, only];
  });
  return [
    {
      from: name,
      savesThere: true,
      command:
        own === undefined ? [...words, ...files] : ['python', own, ...words.slice(words.indexOf(name))],
      packages: own === undefined ? found.packages : [],
      toDo: toDo.flatMap(({ has, text: said }) =>
        own === undefined && new RegExp(has, 'm').test(text) ? [said.replace(FILE, name)] : [],
      ),
    },
  ];
}
