/**
 * What a Spot pool costs more than the cheapest one, for which the plan is made. The run pays its price until a
 * cheaper pool is up again, not for all the work: it moves as soon as it sees that pool (revise.ts). Without scores
 * the premium assumes a move after the next loss, although asking may show it sooner (cheaper-pool.ts).
 */

import { once } from '@tidewheel/kit/once.ts';
import type { Outlook } from '../belief/beliefs.ts';
import { type Candidate, unitUsd } from '../candidates/pools.ts';
import { SAVE_SECONDS } from '../model/next-look.ts';
import { market, TICK_SECONDS } from '../policy/belief-observation.ts';
import { costUsd, gangUsd } from './gang-cost.ts';
import { restartSecondsIn, type WorkEstimate } from './work.ts';

export interface SpotPool {
  readonly candidate: Candidate;
  readonly outlook: Outlook;
}

/**
 * A run moves this long after a pool is up again: at the next look at scores or, without a score, after the next loss.
 */
const LOOK_SECONDS = TICK_SECONDS;
const spellSeconds = once(() => market().lastingTicks(market().start) * TICK_SECONDS);

/**
 * USD that each pool costs more than the cheapest one for `billedSeconds`; 0 for the cheapest. It never rises when
 * another pool's price falls less than its own, or when another pool's score gets better.
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
    // At worst the run does all of it here.
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
  const gone = market().goneTicks(outlook.belief) * TICK_SECONDS;
  return candidate.score === undefined ? Math.max(gone, spellSeconds()) : gone + LOOK_SECONDS;
}

/** The save before the move, and the start after it. */
const moveUsd = (candidate: Candidate, work: WorkEstimate): number =>
  costUsd(gangUsd(candidate, candidate.hourlyUsd), SAVE_SECONDS + restartSecondsIn(candidate, work));
