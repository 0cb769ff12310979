/**
 * Capacity that comes and goes in spells, from a seed: up and down times are exponential, as real traces roughly are.
 * All sizes of a family in a zone rise and fall together, for they share hosts; zones are independent.
 */
import { familyOf } from '@tidewheel/declaration/instance-types.ts';
import { type CapacityPlan, type MarketSecond, PLENTY } from '../model/capacity-plan.ts';
import type { MarketPool } from '../model/offers.ts';
import { between, exponential, uniform } from '../model/seeded-by-name.ts';

export interface SeedScript {
  readonly kind: 'seed';
  readonly seed: number;
}

/** Mean lengths of the spells with capacity, and without. */
const UP_SECONDS = 10_800;
const DOWN_SECONDS = 3_600;
/** A shorter one would end before a job could use it. */
const SHORTEST_SECONDS = 30;
/** Of the ups, this share has only a few instances: enough for one node, not for a gang. */
const THIN_SHARE = 0.2;
const THIN_MOST = 3;
const AMPLE_LEAST = 8;
const AMPLE_MOST = 64;

interface Spell {
  readonly from: MarketSecond;
  readonly until: MarketSecond;
  readonly capacity: number;
}

export function seedPlan({ seed }: SeedScript): CapacityPlan {
  const spells = new Map<string, Spell[]>();

  const spellAt = (pool: MarketPool, at: MarketSecond): Spell => {
    const name = `${familyOf(pool.instanceType)} ${pool.zoneId}`;
    const known = spells.get(name) ?? [];
    spells.set(name, known);
    for (;;) {
      const last = known.at(-1);
      if (last && last.until > at) return search(known, at);
      known.push(nextSpell(name, known.length, last?.until ?? 0));
    }
  };

  const nextSpell = (name: string, index: number, from: MarketSecond): Spell => {
    // Which kind comes first is drawn by the long-run share of time that there is capacity.
    const startsUp = uniform(seed, name, 'first') < UP_SECONDS / (UP_SECONDS + DOWN_SECONDS);
    const isUp = (index % 2 === 0) === startsUp;
    const mean = isUp ? UP_SECONDS : DOWN_SECONDS;
    const length = Math.max(SHORTEST_SECONDS, Math.round(exponential(mean, seed, name, index)));
    return { from, until: from + length, capacity: isUp ? upCapacity(name, index) : 0 };
  };

  const upCapacity = (name: string, index: number): number =>
    uniform(seed, name, index, 'thin') < THIN_SHARE
      ? between(1, THIN_MOST, seed, name, index, 'count')
      : between(AMPLE_LEAST, AMPLE_MOST, seed, name, index, 'count');

  return {
    capacityAt: (pool, at) => (at < 0 ? PLENTY : spellAt(pool, at).capacity),
    nextChange: (pool, at) => (at < 0 ? 0 : spellAt(pool, at).until),
  };
}

/** The spell that holds `at`; they lie end to end from 0 on. */
function search(spells: readonly Spell[], at: MarketSecond): Spell {
  let low = 0;
  let high = spells.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spells[middle]?.until ?? 0) > at) high = middle;
    else low = middle + 1;
  }
  const found = spells[low];
  if (!found) throw new RangeError(`no spell at ${at}`);
  return found;
}
