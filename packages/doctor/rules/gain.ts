/** What a remedy brings over the whole job, with an interval. */
import type { Evidence } from './evidence.ts';
import { furtherRemedies } from './further-remedies.ts';
import type { Measures } from './measures.ts';
import { nextAfter } from './next-limit.ts';
import { type Cause, type Change, type Gain, type GainInterval, remedyOf, type Verdict } from './verdict.ts';

/** A change, and what is then different. */
export interface Option {
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
  /** What the job then pays beside its hosts. */
  readonly usd?: number;
  /** How far the model behind the forecast may be off, as a share of the gain. */
  readonly modelError: number;
  readonly unknown: readonly string[];
}

/** What a rule found, before it is a verdict. */
export interface DoctorFinding extends Option {
  readonly cause: Cause;
  /** Seconds of a step from now on without the remedy, where the mean so far is another. */
  readonly stepSecondsNow?: number;
  readonly evidence: Readonly<Record<string, number>>;
  readonly next?: string | undefined;
  /** Further remedies of the same cause. */
  readonly others?: readonly Option[];
}

const around = (expected: number, modelError: number, error: number): GainInterval => {
  const half = Math.abs(expected) * modelError + error;
  return { low: expected - half, expected, high: expected + half };
};

export function verdictFrom(finding: DoctorFinding, evidence: Evidence, measures: Measures): Verdict {
  const stepNow = finding.stepSecondsNow ?? measures.pace.stepSeconds;
  const gain = (option: Option): Gain => gainOf(option, { evidence, measures, stepNow });
  return {
    cause: finding.cause,
    evidence: finding.evidence,
    remedy: remedyOf(finding.change, evidence.lines),
    gain: gain(finding),
    ...(finding.others && { others: othersOf(finding.others, gain, evidence) }),
    also: furtherRemedies(finding.cause, evidence),
    unknown: finding.unknown,
    next: finding.next ?? nextAfter(finding.cause, measures),
  };
}

/** The most worthwhile first. */
export const othersOf = (
  options: readonly Option[],
  gain: (option: Option) => Gain,
  { lines }: Evidence,
): NonNullable<Verdict['others']> =>
  options
    .map((each) => ({ remedy: remedyOf(each.change, lines), gain: gain(each), unknown: each.unknown }))
    .toSorted((a, b) => b.gain.dollars.expected - a.gain.dollars.expected);

interface Job {
  readonly evidence: Evidence;
  readonly measures: Measures;
  /** Seconds of a step from now on without a remedy. */
  readonly stepNow: number;
}

export function gainOf(option: Option, { evidence, measures, stepNow }: Job): Gain {
  const { pace, jobSeconds, hosts, usdPerSecond } = measures;
  const perStep = stepNow - (option.stepSeconds ?? stepNow) * (option.steps ?? 1);
  const seconds = perStep * evidence.steps + (option.startSeconds ?? 0);
  const after = (option.usdPerSecond ?? evidence.instance.usdPerSecond) * (option.hosts ?? hosts.length);
  const dollars = jobSeconds * usdPerSecond - (jobSeconds - seconds) * after - (option.usd ?? 0);
  // Twice the standard error of the step: 95 of 100 means lie within.
  const error = option.stepSeconds === undefined ? 0 : 2 * pace.error * evidence.steps * Math.abs(perStep);
  return {
    seconds: around(seconds, option.modelError, error),
    dollars: around(dollars, option.modelError, error * after),
  };
}

const saysNothing = ({ low, high }: GainInterval): boolean => low < 0 && high > 0;

/** Such as `20 to 90 s and $1 to 2`; undefined where each part may as well be a loss. */
export function gainText(
  { seconds, dollars }: Gain,
  text: (interval: GainInterval, unit: keyof Gain) => string,
): string | undefined {
  const parts = [
    ...(saysNothing(seconds) ? [] : [`${text(seconds, 'seconds')} s`]),
    ...(saysNothing(dollars) ? [] : [`$${text(dollars, 'dollars')}`]),
  ];
  return parts.length === 0 ? undefined : parts.join(' and ');
}
