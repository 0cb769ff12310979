/**
 * How far the comparison of a pool at hand with a cheaper one looks. Slack that outages of all pools will take cannot be
 * spent on waiting; the rest is spread over the work.
 */

/** Slack must cover a start there, one back, one more, and one request without success; otherwise nothing is compared. */
const STARTS = 3;

export interface SpanQuestion {
  readonly tickSeconds: number;
  readonly restartSeconds: number;
  readonly workLeft: number;
  readonly slack: number;
  /** Share of the coming time in which some pool will have capacity. */
  readonly lasting: number;
  /** Seconds that a request without success takes; 0, the default, where capacity is observed. */
  readonly secondsIfRefused?: number | undefined;
  readonly mostWorkSeconds: number;
  readonly mostSlackSeconds: number;
}

interface Span {
  /** Both in whole ticks, as billed: with part of a tick, work that ends in this tick would seem done and waiting free. */
  readonly workSeconds: number;
  readonly slackSeconds: number;
  readonly mayWait: boolean;
}

/** @returns undefined where no slack is left to compare with */
export function comparedSpan(question: SpanQuestion): Span | undefined {
  const { tickSeconds, workLeft, lasting, mostWorkSeconds, mostSlackSeconds } = question;
  const kept = STARTS * question.restartSeconds + (question.secondsIfRefused ?? 0);
  const free = question.slack - kept - tickSeconds;
  if (free < 0 || workLeft <= 0) return undefined;
  const toWait = lasting > 0 ? Math.max(0, free - (workLeft * (1 - lasting)) / lasting) : 0;
  const work = Math.min(workLeft, mostWorkSeconds);
  const inTicks = (seconds: number): number => Math.ceil(seconds / tickSeconds - 1e-9) * tickSeconds;
  return {
    workSeconds: inTicks(work),
    slackSeconds: inTicks(Math.min((toWait * work) / workLeft + kept, mostSlackSeconds)),
    mayWait: toWait > 0,
  };
}
