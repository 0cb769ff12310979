/**
 * One interruption to watch: the zone that a run trains in is reclaimed a moment after its Nth checkpoint reached S3,
 * and stays without capacity long enough that the run goes on elsewhere. All other zones are calm.
 */

import { type CapacityPlan, type Gang, type MarketSecond, PLENTY } from '../model/capacity-plan.ts';
import { between, uniform } from '../model/seeded-by-name.ts';

export interface DemoScript {
  readonly kind: 'demo';
  /** Default 1. */
  readonly seed?: number;
  /** N lies between these, both included; which it is, the seed and the run decide. Default 1 to 2: the demo's training takes seconds. */
  readonly checkpoints?: readonly [minimum: number, maximum: number];
  /** Market seconds from that checkpoint to the reclaim. Default 0.2 to 0.8. */
  readonly delaySeconds?: readonly [minimum: number, maximum: number];
  /** How long the zone stays without capacity, in market seconds. Default 30 minutes. */
  readonly downSeconds?: number;
  /** Interruptions of each run. Default 1. */
  readonly interruptions?: number;
}

interface Outage {
  readonly zoneId: string;
  readonly from: MarketSecond;
  readonly until: MarketSecond;
}

/** Attempts of one run differ in what follows the run's name: `<run>-a<attempt>-<salt>`. */
export const runOf = (owner: string): string => owner.replace(/-a\d+-[0-9a-f]{6}$/, '');

export function demoPlan({
  seed = 1,
  checkpoints = [1, 2],
  delaySeconds = [0.2, 0.8],
  downSeconds = 1_800,
  interruptions = 1,
}: DemoScript): CapacityPlan {
  const outages: Outage[] = [];
  const synced = new Map<string, number>();
  const suffered = new Map<string, number>();
  const isDown = (zoneId: string, at: MarketSecond): boolean =>
    outages.some((outage) => outage.zoneId === zoneId && outage.from <= at && at < outage.until);

  const checkpointSynced = ({ owner, zoneId }: Gang, at: MarketSecond): boolean => {
    const run = runOf(owner);
    const past = suffered.get(run) ?? 0;
    const count = (synced.get(owner) ?? 0) + 1;
    synced.set(owner, count);
    const isDoomed = outages.some((outage) => outage.zoneId === zoneId && outage.until > at);
    if (past >= interruptions || isDoomed || count < between(...checkpoints, seed, run, past)) return false;
    const [least, most] = delaySeconds;
    const from = at + least + (most - least) * uniform(seed, run, past, 'delay');
    outages.push({ zoneId, from, until: from + downSeconds });
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
    reclaimed: ({ owner }) => {
      const run = runOf(owner);
      suffered.set(run, (suffered.get(run) ?? 0) + 1);
    },
  };
}
