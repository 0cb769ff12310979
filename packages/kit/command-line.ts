/** How every command of this project reads its words: all that is wrong at once, in sentences, and where the help is. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import type * as z from 'zod';
import { messageOf } from './errors.ts';
import { certainWords, mistypedOptions } from './mistyped.mjs';

/** The command line is wrong; the command did nothing. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

type Typed = ReturnType<typeof parseArgs>['values'];

export interface CommandSpec<Schema extends z.ZodType> {
  /**
   * An object with a field for each option: of booleans they take no value, and of lists they may come again. Its
   * messages end the sentence `--name is "value": `; those about several are sentences.
   */
  readonly schema: Schema;
  /** The one letter of an option, by its name. */
  readonly short?: Readonly<Record<string, string>>;
  /** What stands without a dash, by name, in order; a name that ends in `?` may be left out, one in `...` may come again. */
  readonly positionals?: readonly string[];
  /** Variables that must be set. The help says from where they come. */
  readonly environment?: readonly string[];
  /**
   * What else is wrong, in sentences. A word that may belong to an unknown option is not passed, nor are those after it.
   * The values are there where the schema takes all of them; the options as they were typed always are.
   */
  readonly check?: (
    positionals: readonly string[],
    values: z.output<Schema> | undefined,
    given: Typed,
  ) => readonly string[];
}

/**
 * @throws UsageError with every problem: options unknown or without their value, values that the schema refuses, words
 * missing or too many, variables that are not set, and what the command itself checks.
 */
export function readCommandLine<Schema extends z.ZodType>(
  args: readonly string[],
  { schema, short = {}, positionals: names = [], environment = [], check }: CommandSpec<Schema>,
): { readonly values: z.output<Schema>; readonly positionals: readonly string[] } {
  const options = optionsIn(schema, short);
  // Not strict: node would stop at the first thing that it does not like.
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const certain = certainWords(tokens, options);
  const problems = [...mistypedOptions(tokens, options), ...misplaced(positionals, certain, names)];
  const parsed = schema.safeParse(values);
  problems.push(...valueProblems(parsed.error?.issues ?? [], values, options));
  problems.push(...(check?.(certain, parsed.data, values) ?? []));
  const unset = environment.filter((name) => !process.env[name]);
  problems.push(...unset.map((name) => `${name} is not set: see below`));
  if (parsed.success && problems.length === 0) return { values: parsed.data, positionals };
  throw new UsageError(problems);
}

type Definition = z.core.$ZodTypeDef;

// By the type that each definition names, without zod itself, which the start of a command does not load.
const isObject = (def: Definition): def is z.core.$ZodObjectDef => def.type === 'object';
const isBoth = (def: Definition): def is z.core.$ZodIntersectionDef => def.type === 'intersection';
const isPipe = (def: Definition): def is z.core.$ZodPipeDef => def.type === 'pipe';
const isWrapped = (def: Definition): def is z.core.$ZodOptionalDef =>
  def.type === 'optional' || def.type === 'default' || def.type === 'prefault';

function optionsIn(schema: z.core.$ZodType, short: Readonly<Record<string, string>>): ParseArgsOptionsConfig {
  const { def } = schema._zod;
  if (isBoth(def)) return { ...optionsIn(def.left, short), ...optionsIn(def.right, short) };
  const fields = isObject(def) ? Object.entries(def.shape) : [];
  return Object.fromEntries(
    fields.map(([name, field]) => [
      name,
      { ...typeOf(field), ...(short[name] !== undefined && { short: short[name] }) },
    ]),
  );
}

function typeOf({ _zod: { def } }: z.core.$ZodType): ParseArgsOptionsConfig[string] {
  if (isWrapped(def)) return typeOf(def.innerType);
  if (isPipe(def)) return typeOf(def.in);
  if (def.type === 'boolean') return { type: 'boolean' };
  return { type: 'string', multiple: def.type === 'array' };
}

// oxlint-disable-next-line no-control-regex -- it finds them
const OWN_COLOUR = /^\u001b\[(?:[12]|22|3[1-6]|39)m$/;
/** Sequences that begin with an escape, all control characters except tabs and newlines, and those that turn a line's direction. */
const CONTROL =
  // oxlint-disable-next-line no-control-regex -- it finds them
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\))|[\0-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/**
 * A text that cannot steer a terminal: scripts, keys and messages may hold what one obeys. Sequences are left out. A
 * single character is shown as its JSON escape, so that a JSON document keeps its values.
 */
export const printable = (text: string, { keepsColours = false } = {}): string =>
  text.replace(CONTROL, (found) => {
    if (found.length === 1) return `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`;
    return keepsColours && OWN_COLOUR.test(found) ? found : '';
  });

/**
 * A reader may go before the command has ended (`npm run … | head`). Then the rest of the output goes nowhere, but the
 * command still ends its work: it writes its files and stops what it started.
 */
export function outliveReaders(): void {
  for (const output of [process.stdout, process.stderr])
    output.off('error', passBrokenPipe).on('error', passBrokenPipe);
}

function passBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

/** Runs a command's body, prints its help, and turns what it throws into a message and an exit code (2: typed wrongly, 1: failed). */
export async function runCommand(
  usage: string,
  body: (args: readonly string[]) => Promise<number>,
  args: readonly string[] = process.argv.slice(2),
): Promise<void> {
  outliveReaders();
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(`${usage.trimEnd()}\n`);
    return;
  }
  try {
    process.exitCode = await body(args);
  } catch (error: unknown) {
    const isUsage = error instanceof UsageError;
    const problems = isUsage ? error.problems : [messageOf(error)];
    for (const problem of problems) process.stderr.write(`✗ ${printable(problem)}\n`);
    if (isUsage) process.stderr.write(`\n${usage.trimEnd()}\n`);
    process.exitCode = isUsage ? 2 : 1;
  }
}

/** Does what only the named place can be wrong for: where it cannot be had, says so by the word that named it. */
export async function usable<T>(name: string, place: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error: unknown) {
    throw new UsageError([
      `${name} is "${place}", which cannot be written (${messageOf(error)}): name another place`,
    ]);
  }
}

function valueProblems(
  issues: readonly z.core.$ZodIssue[],
  values: Typed,
  options: ParseArgsOptionsConfig,
): string[] {
  return issues.flatMap(({ path, message }) => {
    // About several options together: its words name them.
    if (path.length === 0) return [message];
    const [option, place] = path;
    const name = String(option);
    const given = values[name];
    // About all that an option which may come again was given: its words name the option.
    if (Array.isArray(given) && place === undefined) return [message];
    // An option that may be given again has a list, and the problem is of one in it.
    const value = Array.isArray(given) && typeof place === 'number' ? given[place] : given;
    if (value === undefined) return [`--${name} is missing: ${message}`];
    // Already reported: it lacks its value, or takes none.
    if (typeof value !== optionType(options, name)) return [];
    return [`--${name} is "${String(value)}": ${message}`];
  });
}

const optionType = (options: ParseArgsOptionsConfig, name: string): 'string' | 'boolean' | undefined =>
  Object.hasOwn(options, name) ? options[name]?.type : undefined;

function misplaced(
  given: readonly string[],
  certain: readonly string[],
  names: readonly string[],
): readonly string[] {
  const needed = names.filter((name) => !name.endsWith('?') && !name.endsWith('...'));
  const isOpen = names.some((name) => name.endsWith('...'));
  const missing = needed.slice(given.length).map((name) => `${name} is missing`);
  const beyond = isOpen ? [] : certain.slice(names.length).map((word) => `"${word}" is one word too many`);
  return [...missing, ...beyond];
}
