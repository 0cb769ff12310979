/** Which Spot capacity is leased, and what is left of it. */
import type { CapacityRequest } from './capacity-source.ts';
import type { MarketPool } from './offers.ts';

export interface Held {
  readonly owner: string;
  readonly zoneId: string;
  /** Instance type to number of instances. */
  readonly counts: ReadonlyMap<string, number>;
  readonly instanceId?: string | undefined;
  /** due: reclaimed, but its listener has not run yet. */
  reclaim: 'no' | 'due' | 'delivered';
  listener: ((notice: { readonly graceSeconds: number }) => void) | undefined;
}

export interface Ledger {
  add(lease: Held): void;
  remove(lease: Held): boolean;
  has(lease: Held): boolean;
  all(): readonly Held[];
  pools(): readonly MarketPool[];
  readonly free: (pool: MarketPool) => number;
  /** Leases that no longer fit into their pools' capacity, the newest first: they came when the pool was full. */
  overdrawn(): readonly Held[];
}

/** @param isSpared whether a lease stays although its pool has less than is leased of it */
export function makeLedger(
  capacityOf: (pool: MarketPool) => number,
  isSpared: (lease: Held) => boolean = () => false,
): Ledger {
  /** In the order they were given. */
  const held = new Set<Held>();
  const instances = (pool: MarketPool, counted: (lease: Held) => boolean): number =>
    [...held]
      .filter((lease) => lease.zoneId === pool.zoneId && counted(lease))
      .reduce((sum, lease) => sum + (lease.counts.get(pool.instanceType) ?? 0), 0);

  const overdrawn = (): readonly Held[] => {
    const going = new Set<Held>();
    const stays = (lease: Held): boolean => lease.reclaim === 'no' && !going.has(lease);
    for (const lease of [...held].toReversed().filter((one) => stays(one) && !isSpared(one))) {
      if (poolsOf(lease).some((pool) => instances(pool, stays) > capacityOf(pool))) going.add(lease);
    }
    return [...going];
  };

  return {
    add: (lease) => held.add(lease),
    remove: (lease) => held.delete(lease),
    has: (lease) => held.has(lease),
    all: () => [...held],
    pools: () => [...held].flatMap(poolsOf),
    // Reclaimed capacity is in use until its owner has released it.
    free: (pool) => Math.max(0, capacityOf(pool) - instances(pool, () => true)),
    overdrawn,
  };
}

const poolsOf = ({ counts, zoneId }: Held): readonly MarketPool[] =>
  [...counts.keys()].map((instanceType) => ({ instanceType, zoneId }));

export function countsOf({ groups }: CapacityRequest): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { instanceType, count } of groups)
    counts.set(instanceType, (counts.get(instanceType) ?? 0) + count);
  return counts;
}
