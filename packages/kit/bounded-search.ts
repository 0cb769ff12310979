/** Searches for the regular expressions of a declaration, none of which may take for ever. */
import { createContext, Script } from 'node:vm';
import { ConfigurationError } from './errors.ts';
import { once } from './once.ts';

const MOST_SECONDS = 1;
/** Done within milliseconds. */
const QUICK_STEPS = 1e7;

/** V8 ends a search that takes too long only in code that runs in a context, which takes a millisecond to make. */
const limited = once(() => ({ context: createContext({}), script: new Script('search()') }));

/**
 * @param field where it is declared
 * @throws ConfigurationError when the search takes over a second
 */
export function boundedSearch(field: string, pattern: RegExp, text: string): RegExpExecArray | null {
  // Each limit costs a thread.
  if (mostSteps(pattern.source, text.length) < QUICK_STEPS) return pattern.exec(text);
  let found: RegExpExecArray | null = null;
  const { context, script } = limited();
  context['search'] = () => void (found = pattern.exec(text));
  try {
    script.runInContext(context, { timeout: MOST_SECONDS * 1_000 });
  } catch (cause: unknown) {
    throw new ConfigurationError(
      `${field} takes over ${MOST_SECONDS} s to search ${JSON.stringify(text.slice(0, 200))}: give it fewer repeats`,
      { cause },
    );
  }
  return found;
}

/** Ways to part a text of this length among what repeats, is optional or is one of several. */
function mostSteps(source: string, length: number): number {
  // What is escaped is a letter: \(* repeats, as (?: does not.
  const plain = source.replaceAll(/\\./gsu, 'a');
  if (/\)[*+{]/.test(plain)) return Number.POSITIVE_INFINITY;
  const choices = plain.match(/(?<!\()[*+?{|]/g) ?? [];
  return choices.reduce(
    (steps, _, index) => steps * Math.max(2, (length + index) / (index + 2)),
    Math.max(1, length),
  );
}
