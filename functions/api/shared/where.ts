/** What a list of runs is searched for: words, and comparisons of what was measured or given. */
import type { ListedRun } from '../../records/run-records.ts';

type IsWanted = (run: ListedRun) => boolean;
type Numbers = Readonly<Record<string, number | null | undefined>>;

const COMPARISON = /^([\w./@-]+)\s*(>=|<=|!=|=|>|<)\s*(\S+)$/;

/**
 * Terms with "and" between them: `val_accuracy > 0.9`, `lr = 1e-4` or `cost < 2`; `tag:NAME`, or `tag:team=vision` for one of
 * the declaration; every other word stands in the run's id, status, failure, note, owner or tags.
 */
export function whereOf(text: string): IsWanted {
  const terms = text
    .split(/\s+and\s+/i)
    .map((term) => term.trim())
    .filter((term) => term !== '')
    .map(termOf);
  return (run) => terms.every((isWanted) => isWanted(run));
}

function termOf(term: string): IsWanted {
  const [, tag] = /^tag:(.+)$/i.exec(term) ?? [];
  if (tag !== undefined) return (run) => tagsOf(run).includes(tag);
  const [, name = '', sign = '', value = ''] = COMPARISON.exec(term) ?? [];
  if (sign !== '') return (run) => holds(valueOf(run, name), sign, value);
  const words = term.toLowerCase().split(/\s+/);
  return (run) => {
    const said = textOf(run);
    return words.every((word) => said.includes(word));
  };
}

const tagsOf = ({ listed, annotation = listed?.annotation }: ListedRun): readonly string[] => [
  ...(annotation?.tags ?? []),
  ...Object.entries(listed?.tags ?? {}).flatMap(([name, value]) => [name, `${name}=${value}`]),
];

function textOf(run: ListedRun): string {
  const { runId, status, failure, listed, annotation = listed?.annotation, git } = run;
  const said = [runId, status, failure, annotation?.note, listed?.owner, git?.commit, ...tagsOf(run)];
  return said
    .filter((each) => each !== undefined)
    .join('\n')
    .toLowerCase();
}

/** Measured values come first, then given ones, then those that the service counts. */
function valueOf({ result, listed }: ListedRun, name: string): number | string | undefined {
  const { metric } = result ?? {};
  const measured: Numbers = { ...(metric && { [metric.name]: metric.value }), ...result?.metrics };
  const counted: Numbers = {
    cost: result?.costUsd,
    interruptions: result?.interruptions,
    attempts: result?.attempts,
    lost: result?.lostSeconds,
  };
  const given = listed?.hyperparameters ?? {};
  const found = [measured, given, counted].find((each) => Object.hasOwn(each, name));
  return found?.[name] ?? undefined;
}

const SIGNS: Readonly<Record<string, (one: number, other: number) => boolean>> = {
  '>': (one, other) => one > other,
  '>=': (one, other) => one >= other,
  '<': (one, other) => one < other,
  '<=': (one, other) => one <= other,
  '=': (one, other) => one === other,
  '!=': (one, other) => one !== other,
};

/** Numbers are compared as such; other texts are only equal or not. What a run has not does not hold. */
function holds(value: number | string | undefined, sign: string, given: string): boolean {
  if (value === undefined || value === '') return false;
  const [one, other] = [Number(value), Number(given)];
  if (Number.isFinite(one) && Number.isFinite(other)) return SIGNS[sign]?.(one, other) ?? false;
  return sign === '=' ? value === given : sign === '!=' && value !== given;
}
