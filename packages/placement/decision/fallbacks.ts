/** The On-Demand pools that a Spot attempt may fall back on, and for how long their start can still be put off. */

import { type Candidate, unitUsd } from '../candidates/pools.ts';
import type { MetIn } from './met.ts';
import { restartOf, safeWorkOf, type WorkEstimate } from './work.ts';

interface TimeLeft {
  readonly work: WorkEstimate;
  /** Until the deadline. */
  readonly secondsLeft: number;
  readonly marginSeconds: number;
}

interface Fallbacks {
  /** From the cheapest to the fastest; none where the pipeline allows no On-Demand. */
  readonly fallbacks: readonly Candidate[];
  /** Until the fastest of them has to be started; below 0 the deadline is lost already. */
  readonly slackSeconds: number;
}

/** The most fallbacks that are planned for: the cheapest, the fastest and one between. */
const MAXIMUM_FALLBACKS = 3;

/**
 * A Spot attempt may make no progress and cost a whole restart; then one of these must still end in time. The more
 * expensive of two counts only if it is faster.
 */
export function fallbacksOf(
  candidates: readonly Candidate[],
  met: MetIn,
  { work, secondsLeft, marginSeconds }: TimeLeft,
): Fallbacks {
  const slackOf = (each: Candidate): number => secondsLeft - safeWorkOf(each, work) - restartOf(each, work);
  const unit = (each: Candidate): number => unitUsd(each, each.hourlyUsd);
  const open = candidates.filter(({ closed }) => closed === undefined);
  const onDemand = reliable(
    open.filter(({ pool }) => pool.purchaseOption === 'on-demand'),
    met,
    slackOf,
  );
  const counted = onDemand.length > 0 ? onDemand : open;
  const slackSeconds =
    counted.length > 0
      ? Math.max(...counted.map(slackOf))
      : secondsLeft - work.workSeconds - work.restartSeconds;
  const front: Candidate[] = [];
  for (const each of onDemand.toSorted((a, b) => unit(a) - unit(b) || slackOf(b) - slackOf(a))) {
    const before = front.at(-1);
    const isFaster = before === undefined || slackOf(each) > slackOf(before) + 1;
    if (isFaster && slackOf(each) >= work.restartSeconds + marginSeconds) front.push(each);
  }
  const last = front.at(-1) ?? onDemand.toSorted((a, b) => slackOf(b) - slackOf(a) || unit(a) - unit(b))[0];
  const fallbacks = last === undefined ? [] : [...front.slice(0, -1).slice(0, MAXIMUM_FALLBACKS - 1), last];
  return { slackSeconds, fallbacks };
}

/**
 * Leaves out pools that a quota of the account forbids while others end in time: it is unknown when the quota will be
 * raised, and waiting for a fast pool without capacity would make the slower ones too late.
 */
function reliable(
  onDemand: readonly Candidate[],
  met: MetIn,
  slackOf: (candidate: Candidate) => number,
): readonly Candidate[] {
  const sure = onDemand.filter((each) => !met(each).isQuota && slackOf(each) >= 0);
  return sure.length > 0 ? sure : onDemand;
}
