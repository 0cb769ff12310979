/** What a remedy brings over the whole job, with an interval. */
import type { Evidence } from './evidence.ts';
import { ALSO } from './further-remedies.ts';
import type { Measures } from './measures.ts';
import { type Cause, type Change, type Interval, remedyOf, type Verdict } from './verdict.ts';

/** What a rule found, before it is a verdict. */
export interface Finding {
  readonly cause: Cause;
  /** Seconds of a step from now on without the remedy, where the mean so far is another. */
  readonly stepSecondsNow?: number;
  readonly evidence: Readonly<Record<string, number>>;
  readonly change: Change;
  /** Seconds of a step with the remedy; left out: unchanged. */
  readonly stepSeconds?: number;
  /** Seconds that the start loses; negative: it gets longer. */
  readonly startSeconds?: number;
  /** What a second of a host costs then, its helpers included. */
  readonly usdPerSecond?: number;
  /** How many steps do the work of one of today; 1 by default. */
  readonly steps?: number;
  /** How many hosts there are then. */
  readonly hosts?: number;
  /** How far the model behind the forecast may be off, as a share of the gain. */
  readonly modelError: number;
  readonly unknown: readonly string[];
  readonly next?: string | undefined;
}

const around = (expected: number, modelError: number, error: number): Interval => {
  const half = Math.abs(expected) * modelError + error;
  return { low: expected - half, expected, high: expected + half };
};

export function verdictOf(finding: Finding, evidence: Evidence, measures: Measures): Verdict {
  const { pace, jobSeconds, hosts, usdPerSecond } = measures;
  const stepNow = finding.stepSecondsNow ?? pace.stepSeconds;
  const perStep = stepNow - (finding.stepSeconds ?? stepNow) * (finding.steps ?? 1);
  const seconds = perStep * evidence.steps + (finding.startSeconds ?? 0);
  const after = (finding.usdPerSecond ?? evidence.instance.usdPerSecond) * (finding.hosts ?? hosts.length);
  const dollars = jobSeconds * usdPerSecond - (jobSeconds - seconds) * after;
  // Twice the standard error of the step: 95 of 100 means lie within.
  const error = finding.stepSeconds === undefined ? 0 : 2 * pace.error * evidence.steps * Math.abs(perStep);
  return {
    cause: finding.cause,
    evidence: finding.evidence,
    remedy: remedyOf(finding.change),
    gain: {
      seconds: around(seconds, finding.modelError, error),
      dollars: around(dollars, finding.modelError, error * after),
    },
    also: ALSO[finding.cause] ?? [],
    unknown: finding.unknown,
    next: finding.next,
  };
}
