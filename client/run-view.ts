/** What the answer of `GET /runs/{runId}` means at a moment, for the command line and the page. Times are milliseconds. */
import type { Operations } from './operations.ts';

type RunAnswer = Operations['getRun']['answer'];
type Attempt = RunAnswer['attempts'][number];
type ReportedAttempt = NonNullable<RunAnswer['report']>['attempts'][number];
type Status = RunAnswer['run']['status'];

const FINISHED: ReadonlySet<string> = new Set<Status>([
  'succeeded',
  'failed',
  'stopped',
  'empty',
  'notNeeded',
]);

export const isFinished = ({ status }: { readonly status: string }): boolean => FINISHED.has(status);

/** The furthest work that a checkpoint proves. */
export const savedProgress = ({
  progress,
  attempts,
}: Pick<RunAnswer, 'progress' | 'attempts'>): RunAnswer['progress'] =>
  progress ?? attempts.at(-1)?.progressAfter;

/** So far: the answer's sum, and what hosts have cost since. */
export const usdSoFar = ({ usd, usdPerSecond, asOf }: RunAnswer['money'], now: number): number =>
  usd + (usdPerSecond * Math.max(0, now - Date.parse(asOf))) / 1000;

export interface AttemptTimes {
  readonly begun: number;
  /** When the script began, or the hosts, where that is not known. */
  readonly script: number;
  /** Equal to `end` where no work was lost. */
  readonly lostFrom: number;
  /** `now` for an attempt that goes on. */
  readonly end: number;
}

/** @param reported the same attempt in the run's report, if it has one */
export function timesOfAttempt(
  attempt: Attempt,
  reported: ReportedAttempt | undefined,
  now: number,
): AttemptTimes {
  const { outcome } = attempt;
  const begun = Date.parse(attempt.createdAt);
  const end = Math.max(
    begun,
    timeOf(outcome?.endedAt) ?? (outcome === undefined ? now : Date.parse(attempt.updatedAt)),
  );
  const script = Math.min(end, timeOf(outcome?.scriptStartedAt) ?? timeOf(outcome?.startedAt) ?? begun);
  const lostFrom =
    reported === undefined ? lostSince(attempt, { script, end }) : end - reported.lostSeconds * 1000;
  return { begun, script, end, lostFrom: Math.min(end, Math.max(script, lostFrom)) };
}

/** Before the report, only an interruption is known to lose what no save covers. */
const lostSince = (
  { outcome, progressAfter }: Attempt,
  { script, end }: Pick<AttemptTimes, 'script' | 'end'>,
): number => (outcome?.kind === 'interrupted' ? (timeOf(progressAfter?.updatedAt) ?? script) : end);

export const timeOf = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Date.parse(text);

const SHORT_HASH = 12;

/** Such as "1a2b3c4d5e6f (main), with uncommitted changes; source 9f86d081884c". */
export function codeText({ git, source }: Pick<RunAnswer['run'], 'git' | 'source'>): string | undefined {
  const digest = source === undefined ? [] : [`source ${source.slice(0, SHORT_HASH)}`];
  if (git === undefined) return digest[0];
  const branch = git.branch === undefined ? '' : ` (${git.branch})`;
  const dirty = git.isDirty ? ', with uncommitted changes' : '';
  return [`${git.commit.slice(0, SHORT_HASH)}${branch}${dirty}`, ...digest].join('; ');
}
