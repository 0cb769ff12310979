/**
 * One interruption to watch: a run's capacity is reclaimed a moment after its Nth checkpoint reached S3, and its zone
 * has none for so long that the run continues elsewhere. What other runs hold there they keep, and two zones at most are
 * without capacity at a time: any number of runs can be interrupted without waiting for each other.
 */

import { type CapacityPlan, type GangRequest, type MarketSecond, PLENTY } from '../model/capacity-plan.ts';
import { runOf } from '../model/run-name.ts';
import { between, uniform } from '../model/seeded-by-name.ts';

export interface DemoScript {
  readonly kind: 'demo';
  /** Default 1. */
  readonly seed?: number;
  /** How long the zone stays without capacity, in market seconds. Default 2 minutes. */
  readonly downSeconds?: number;
}

interface Outage {
  readonly run: string;
  readonly zoneId: string;
  readonly from: MarketSecond;
  until: MarketSecond;
}

/** Most types are offered in three zones or more. */
const MOST_ZONES_DOWN = 2;
/** N lies between these, both included; which it is, the seed and the run decide. The demo's training takes seconds. */
const CHECKPOINTS = [1, 2] as const;
/** From that checkpoint to the reclaim. */
const DELAY_SECONDS = [0.2, 0.8] as const;
/** Part of what is drawn, so that a seed means what it always has. */
const FIRST = 0;

export function demoPlan({ seed = 1, downSeconds = 120 }: DemoScript): CapacityPlan {
  const outages: Outage[] = [];
  const synced = new Map<string, number>();
  const suffered = new Set<string>();
  const isDown = (zoneId: string, at: MarketSecond): boolean =>
    outages.some((outage) => outage.zoneId === zoneId && outage.from <= at && at < outage.until);

  /** The oldest of them end as a new one begins. */
  const endOldest = (at: MarketSecond): void => {
    const lasting = outages.filter(({ until }) => until > at);
    for (const outage of lasting.slice(0, Math.max(0, lasting.length - MOST_ZONES_DOWN + 1)))
      outage.until = at;
  };

  const checkpointSynced = ({ owner, zoneId }: GangRequest, at: MarketSecond): boolean => {
    const run = runOf(owner);
    const count = (synced.get(owner) ?? 0) + 1;
    synced.set(owner, count);
    const isDoomed = outages.some(
      (outage) => outage.run === run && outage.zoneId === zoneId && outage.until > at,
    );
    if (suffered.has(run) || isDoomed || count < between(...CHECKPOINTS, seed, run, FIRST)) return false;
    const [least, most] = DELAY_SECONDS;
    const from = at + least + (most - least) * uniform(seed, run, FIRST, 'delay');
    endOldest(from);
    outages.push({ run, zoneId, from, until: from + downSeconds });
    return true;
  };

  return {
    capacityAt: ({ zoneId }, at) => (isDown(zoneId, at) ? 0 : PLENTY),
    nextChange: ({ zoneId }, at) => {
      const edges = outages
        .filter((outage) => outage.zoneId === zoneId)
        .flatMap((outage) => [outage.from, outage.until])
        .filter((edge) => edge > at);
      return edges.length > 0 ? Math.min(...edges) : undefined;
    },
    checkpointSynced,
    spares: ({ owner, zoneId }, at) =>
      !outages.some(
        (outage) =>
          outage.run === runOf(owner) && outage.zoneId === zoneId && outage.from <= at && at < outage.until,
      ),
    reclaimed: ({ owner }) => void suffered.add(runOf(owner)),
  };
}
