/**
 * What a Spot pool costs more than the cheapest one that the plan is made for. Its price is paid until a cheaper pool is
 * back, not for all the work: a run moves there as soon as it sees it (revise.ts). Without scores it is counted to go there
 * after the next loss, though it may learn sooner by asking (cheaper-pool.ts).
 */

import type { Outlook } from '../belief/beliefs.ts';
import { type Candidate, unitUsd } from '../candidates/pools.ts';
import { SAVE_SECONDS } from '../model/timings.ts';
import { market } from '../policy/belief-observation.ts';
import { costUsd, gangUsd } from './gang-cost.ts';
import { restartSecondsOn, type WorkEstimate } from './work.ts';

export interface SpotPool {
  readonly candidate: Candidate;
  readonly outlook: Outlook;
}

/** How much later than it is back a run goes to a pool: at the next look at scores, or where no score tells, after the next loss. */
const LOOK_SECONDS = market.tickSeconds;
const SPELL_SECONDS = market.lastingTicks(market.start) * market.tickSeconds;

/**
 * USD more than the cheapest of these pools, for each, if `billedSeconds` are to be paid there; the cheapest has none.
 * Falls, never rises, when another pool's price falls less than its own or another's score gets better.
 * @param pools those that may be used, as `candidate.closed` and limits of the account say
 */
export function premiums(
  pools: readonly SpotPool[],
  {
    work,
    billedSeconds,
  }: { readonly work: WorkEstimate; readonly billedSeconds: (pool: SpotPool) => number },
): ReadonlyMap<Candidate, number> {
  const byPrice = pools
    .map((pool) => ({ pool, unit: unitUsd(pool.candidate, pool.candidate.hourlyUsd) }))
    .toSorted((a, b) => a.unit - b.unit);
  const found: {
    readonly unit: number;
    readonly untilSeconds: number;
    readonly moveUsd: number;
    readonly usd: number;
  }[] = [];
  const result = new Map<Candidate, number>();
  for (const { pool, unit } of byPrice) {
    const { candidate } = pool;
    const billed = billedSeconds(pool);
    const moreUsd = (than: number, seconds: number): number =>
      costUsd((unit - than) / candidate.throughput.factor, seconds);
    // All of it is done here, at worst.
    let usd = moreUsd(byPrice[0]?.unit ?? unit, billed);
    for (const other of found)
      if (other.untilSeconds < billed)
        usd = Math.min(usd, moreUsd(other.unit, other.untilSeconds) + other.moveUsd + other.usd);
    result.set(candidate, usd);
    if (candidate.transfer === undefined)
      found.push({ unit, untilSeconds: untilSeconds(pool), moveUsd: moveUsd(candidate, work), usd });
  }
  return result;
}

function untilSeconds({ candidate, outlook }: SpotPool): number {
  const gone = market.goneTicks(outlook.belief) * market.tickSeconds;
  return candidate.score === undefined ? Math.max(gone, SPELL_SECONDS) : gone + LOOK_SECONDS;
}

/** The save that the move is made after, and the start there. */
const moveUsd = (candidate: Candidate, work: WorkEstimate): number =>
  costUsd(gangUsd(candidate, candidate.hourlyUsd), SAVE_SECONDS + restartSecondsOn(candidate.pool, work));
