/** How every command of this project reads its words: all that is wrong at once, in sentences, and where the help is. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import type * as z from 'zod';

/** The command line is wrong; the command did nothing. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

export interface CommandSpec<Schema extends z.ZodType> {
  /** Which options there are and which take a value, as node:util has it. */
  readonly options: ParseArgsOptionsConfig;
  /** What they must be: its messages end the sentence `--name is "value": `. */
  readonly schema: Schema;
  /** What stands without a dash, by name, in order; a name that ends in `?` may be left out, one in `...` may come again. */
  readonly positionals?: readonly string[];
}

/** @throws UsageError with every problem: options unknown or without their value, values that the schema refuses. */
export function readCommandLine<Schema extends z.ZodType>(
  args: readonly string[],
  { options, schema, positionals: names = [] }: CommandSpec<Schema>,
): { readonly values: z.output<Schema>; readonly positionals: readonly string[] } {
  // Not strict: node would stop at the first thing that it does not like.
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const typed = tokens.filter((token) => token.kind === 'option');
  const misread = typed.flatMap(({ rawName, name, value }) => misreadOption(options, rawName, name, value));
  // The word after an unknown option may have been its value.
  const problems = misread.length > 0 ? [...misread] : [...misplaced(positionals, names)];
  const parsed = schema.safeParse(values);
  if (parsed.success && problems.length === 0) return { values: parsed.data, positionals };
  for (const issue of parsed.error?.issues ?? []) {
    const name = String(issue.path[0] ?? '');
    // Already reported: it lacks its value, or takes none.
    if (values[name] !== undefined && typeof values[name] !== optionType(options, name)) continue;
    problems.push(
      values[name] === undefined
        ? `--${name} is missing: ${issue.message}`
        : `--${name} is "${String(values[name])}": ${issue.message}`,
    );
  }
  throw new UsageError(problems);
}

/**
 * A reader may go before the command has ended (`npm run … | head`). Then the rest of the output goes nowhere, but the
 * command still ends its work: it writes its files and stops what it started.
 */
function outliveReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

/** Runs a command's body, prints its help, and turns what it throws into a message and an exit code (2: typed wrongly, 1: failed). */
export async function runCommand(
  usage: string,
  body: (args: readonly string[]) => Promise<number>,
  args: readonly string[] = process.argv.slice(2),
): Promise<void> {
  for (const output of [process.stdout, process.stderr])
    output.off('error', outliveReader).on('error', outliveReader);
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(`${usage.trimEnd()}\n`);
    return;
  }
  try {
    process.exitCode = await body(args);
  } catch (error: unknown) {
    const isUsage = error instanceof UsageError;
    const problems = isUsage ? error.problems : [error instanceof Error ? error.message : String(error)];
    for (const problem of problems) process.stderr.write(`✗ ${problem}\n`);
    if (isUsage) process.stderr.write(`\n${usage.trimEnd()}\n`);
    process.exitCode = isUsage ? 2 : 1;
  }
}

/** Does what only the named place can be wrong for: where it cannot be had, says so by the word that named it. */
export async function usable<T>(name: string, place: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error: unknown) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError([`${name} is "${place}", which cannot be written (${why}): name another place`]);
  }
}

function misreadOption(
  options: ParseArgsOptionsConfig,
  rawName: string,
  name: string,
  value: string | undefined,
): readonly string[] {
  const type = optionType(options, name);
  if (type === undefined) {
    const near = nearest(name, Object.keys(options));
    return [`there is no option ${rawName}${near === undefined ? '' : `; did you mean --${near}?`}`];
  }
  if (type === 'string' && value === undefined) return [`${rawName} needs a value`];
  if (type === 'boolean' && value !== undefined)
    return [`${rawName} takes no value, but "${value}" was given`];
  return [];
}

const optionType = (options: ParseArgsOptionsConfig, name: string): 'string' | 'boolean' | undefined =>
  Object.hasOwn(options, name) ? options[name]?.type : undefined;

function misplaced(given: readonly string[], names: readonly string[]): readonly string[] {
  const needed = names.filter((name) => !name.endsWith('?') && !name.endsWith('...'));
  const isOpen = names.some((name) => name.endsWith('...'));
  const missing = needed.slice(given.length).map((name) => `${name} is missing`);
  const beyond = isOpen ? [] : given.slice(names.length).map((word) => `"${word}" is one word too many`);
  return [...missing, ...beyond];
}

/** The known name that a typing mistake comes closest to, if it is close at all. */
function nearest(typed: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((name) => ({ name, distance: editDistance(typed, name) }))
    .toSorted((a, b) => a.distance - b.distance);
  const best = ranked[0];
  return best !== undefined && best.distance <= Math.max(1, Math.floor(typed.length / 3))
    ? best.name
    : undefined;
}

/** Levenshtein's: insertions, deletions and replacements that make one of the other. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [index, letter] of a.split('').entries()) {
    const next = [index + 1];
    for (let column = 1; column <= b.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (letter === b[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
