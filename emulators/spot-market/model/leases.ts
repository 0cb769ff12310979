/** Gives capacity to whole gangs or not at all, and takes it back when a pool falls below what is leased of it. */
import { countsOf, type Held, type Ledger, makeLedger } from './capacity-ledger.ts';
import type { CapacityPlan, MarketSecond } from './capacity-plan.ts';
import type { CapacityLease, CapacityMarket, CapacityRequest } from './capacity-source.ts';
import type { MarketTime } from './market-time.ts';
import type { MarketPool } from './offers.ts';
import { runOf } from './run-name.ts';

interface WaitNotices {
  begin(owner: string, counts: ReadonlyMap<string, number>, zoneIds: readonly string[]): void;
  /** The owner has its capacity. */
  end(owner: string): void;
}

/** Says that a job waits for capacity, once for each wait, and when the market changes next. */
function waitNotices(deps: {
  readonly plan: CapacityPlan;
  readonly time: MarketTime;
  readonly log: (line: string) => void;
  readonly notice?: (line: string) => void;
}): WaitNotices {
  const { plan, time } = deps;
  const waiting = new Set<string>();

  const nextChange = (counts: ReadonlyMap<string, number>, zoneIds: readonly string[]): string => {
    const now = time.now();
    const types = [...counts.keys()];
    const changes = zoneIds.flatMap((zoneId) =>
      types.flatMap((instanceType) => plan.nextChange({ instanceType, zoneId }, now) ?? []),
    );
    if (changes.length === 0) return 'the market script brings none';
    const milliseconds = time.wallMs(Math.min(...changes)) - time.wallMs(now);
    return `the market changes in ${Math.ceil(milliseconds / 1_000)} s`;
  };

  return {
    begin: (owner, counts, zoneIds) => {
      if (waiting.has(owner)) return;
      waiting.add(owner);
      const where = zoneIds.join(', ') || 'any zone';
      const line = `${owner} waits: no Spot capacity for ${inWords(counts)} in ${where}; ${nextChange(counts, zoneIds)}`;
      deps.log(line);
      deps.notice?.(line);
    },
    end: (owner) => void waiting.delete(owner),
  };
}

/** Such as `2 x c5.xlarge`. */
const inWords = (counts: ReadonlyMap<string, number>): string =>
  [...counts].map(([instanceType, count]) => `${count} x ${instanceType}`).join(', ');

export interface LeaseDeps {
  readonly plan: CapacityPlan;
  readonly time: MarketTime;
  /** Zone ids where all of the types are offered. */
  readonly zonesFor: (types: readonly string[]) => readonly string[];
  /** USD per instance hour, for the choice between zones that are equally deep. */
  readonly priceOf: (pool: MarketPool) => number | undefined;
  /** From the warning to the kill, in real seconds. */
  readonly graceSeconds: number;
  readonly log: (line: string) => void;
  /** Takes what a user should see: that a job waits for capacity, once for each wait. */
  readonly notice?: (line: string) => void;
  /** The plan took what this owner had, and no person. */
  readonly onReclaim?: ((owner: string) => void) | undefined;
}

export interface Leases extends CapacityMarket {
  /** Instances of the pool that are available now. */
  readonly freeAt: (pool: MarketPool) => number;
  /** Spot leases that are held and not yet reclaimed, the oldest first. */
  held(): readonly Held[];
  /**
   * Reclaims leases that are held, whatever the plan.
   * @param closes whether their zones stay closed to their runs for a while
   */
  reclaimNow(leases: readonly Held[], closes: boolean): void;
  close(): void;
}

/** After a requested interruption: long enough that the run continues elsewhere, where it may. */
const CLOSED_SECONDS = 120;

export function makeLeases(deps: LeaseDeps): Leases {
  const { plan, time, log } = deps;
  const ledger = makeLedger(
    (pool) => plan.capacityAt(pool, time.now()),
    (lease) => plan.spares?.(lease, time.now()) ?? false,
  );
  const listeners = makeListeners(log);
  /** Pools requested without success since the listeners were last called. */
  const wanted = new Map<string, MarketPool>();
  let callOff: (() => void) | undefined;
  /** Every change up to this moment has been acted on. */
  let lookedAt = time.now();
  const closures = makeClosures(time);

  const lookAgain = (): void => {
    lookedAt = time.now();
    for (const held of ledger.overdrawn()) reclaimByPlan(held, deps);
    wanted.clear();
    listeners.call();
    schedule();
  };

  /**
   * Wakes at the next change of a pool that is leased or wanted: the next since the last look, not since now. A timer
   * may wake a moment early or late, and a change in between would never be acted on.
   */
  const schedule = (): void => {
    callOff?.();
    const pools = [...ledger.pools(), ...(listeners.count() > 0 ? wanted.values() : [])];
    const changes = pools.flatMap((pool) => plan.nextChange(pool, lookedAt) ?? []);
    changes.push(...closures.endsAfter(lookedAt));
    callOff = changes.length > 0 ? time.at(Math.min(...changes), lookAgain) : undefined;
  };

  const waits = waitNotices(deps);

  const refuse = (zones: readonly ZoneOffer[]): undefined => {
    for (const pool of zones.flatMap(({ pools }) => pools)) {
      wanted.set(`${pool.instanceType} ${pool.zoneId}`, pool);
    }
    schedule();
  };

  const acquire = (request: CapacityRequest): CapacityLease | undefined => {
    const counts = countsOf(request);
    const offered = deps.zonesFor([...counts.keys()]);
    const zoneIds = offered.filter((zoneId) => request.zoneIds?.includes(zoneId) ?? true);
    if (request.purchaseOption === 'on-demand') return onDemandLease(zoneIds);
    const open = zoneIds.filter((zoneId) => !closures.has(request.owner, zoneId));
    const zones = open.map((zoneId) => zoneOffer(zoneId, counts, ledger.free, deps.priceOf));
    const zoneId = chooseZone(zones);
    if (zoneId === undefined) {
      waits.begin(request.owner, counts, zoneIds);
      return refuse(zones);
    }
    waits.end(request.owner);
    const { owner, instanceId } = request;
    const held: Held = { owner, zoneId, counts, instanceId, reclaim: 'no', listener: undefined };
    ledger.add(held);
    log(`${request.owner} gets Spot capacity in ${zoneId}: ${inWords(counts)}`);
    schedule();
    return leaseOf(held, { ledger, deps, schedule, lookAgain });
  };

  const onCapacity = (listener: () => void): (() => void) => {
    const unsubscribe = listeners.add(listener);
    schedule();
    return unsubscribe;
  };

  const onRequest = requestedReclaims(ledger, closures, deps, schedule);
  return { acquire, onCapacity, ...onRequest, freeAt: ledger.free, close: () => callOff?.() };
}

function requestedReclaims(
  ledger: Ledger,
  closures: ReturnType<typeof makeClosures>,
  deps: LeaseDeps,
  schedule: () => void,
): Pick<Leases, 'held' | 'reclaimNow'> {
  return {
    held: () => ledger.all().filter((lease) => lease.reclaim === 'no'),
    reclaimNow: (leases, closes) => {
      for (const lease of leases) {
        if (closes) closures.add(lease, CLOSED_SECONDS);
        reclaim(lease, deps);
      }
      schedule();
    },
  };
}

/** Zones that take no new job of a run for a while. */
function makeClosures(time: MarketTime) {
  const closures = new Map<string, MarketSecond>();
  const keyOf = (owner: string, zoneId: string): string => `${zoneId} ${runOf(owner)}`;
  return {
    add: ({ owner, zoneId }: Held, seconds: number) => {
      closures.set(keyOf(owner, zoneId), time.now() + seconds);
    },
    has: (owner: string, zoneId: string) => (closures.get(keyOf(owner, zoneId)) ?? 0) > time.now(),
    endsAfter: (at: MarketSecond) => [...closures.values()].filter((end) => end > at),
  };
}

/** The owner's end of a lease. */
function leaseOf(
  held: Held,
  market: {
    readonly ledger: Ledger;
    readonly deps: LeaseDeps;
    readonly schedule: () => void;
    readonly lookAgain: () => void;
  },
): CapacityLease {
  const { ledger, deps } = market;
  return {
    zoneId: held.zoneId,
    onReclaim: (listener) => {
      held.listener = listener;
      tell(held, deps);
    },
    checkpointSynced: () => {
      if (ledger.has(held) && deps.plan.checkpointSynced?.(held, deps.time.now())) market.schedule();
    },
    release: () => {
      if (ledger.remove(held)) market.lookAgain();
    },
  };
}

interface ZoneOffer {
  readonly zoneId: string;
  readonly pools: readonly MarketPool[];
  /** How many such gangs the zone could take; below 1 it cannot take one. */
  readonly depth: number;
  readonly usd: number;
}

function zoneOffer(
  zoneId: string,
  counts: ReadonlyMap<string, number>,
  freeOf: (pool: MarketPool) => number,
  priceOf: (pool: MarketPool) => number | undefined,
): ZoneOffer {
  const needs = [...counts].map(([instanceType, count]) => ({ pool: { instanceType, zoneId }, count }));
  return {
    zoneId,
    pools: needs.map(({ pool }) => pool),
    depth: Math.min(...needs.map(({ pool, count }) => freeOf(pool) / count)),
    usd: needs.reduce((sum, { pool, count }) => sum + count * (priceOf(pool) ?? 0), 0),
  };
}

/** The deepest, as the allocation by capacity does, then the cheapest; undefined when no zone has enough. */
const chooseZone = (zones: readonly ZoneOffer[]): string | undefined =>
  zones
    .filter(({ depth }) => depth >= 1)
    .toSorted((a, b) => b.depth - a.depth || a.usd - b.usd || a.zoneId.localeCompare(b.zoneId))[0]?.zoneId;

/** On-Demand is not modelled as scarce: it is there in every zone that offers the types, and is never reclaimed. */
const onDemandLease = ([zoneId]: readonly string[]): CapacityLease | undefined =>
  zoneId === undefined
    ? undefined
    : { zoneId, onReclaim: () => undefined, checkpointSynced: () => undefined, release: () => undefined };

function reclaim(lease: Held, deps: LeaseDeps): void {
  lease.reclaim = 'due';
  deps.log(`Spot capacity of ${lease.owner} in ${lease.zoneId} is reclaimed: ${deps.graceSeconds} s to go`);
  deps.plan.reclaimed?.(lease);
  tell(lease, deps);
}

function reclaimByPlan(lease: Held, deps: LeaseDeps): void {
  reclaim(lease, deps);
  deps.onReclaim?.(lease.owner);
}

/** At most one call, as soon as there is both a reclaim and a listener. */
function tell(lease: Held, { graceSeconds, log }: Pick<LeaseDeps, 'graceSeconds' | 'log'>): void {
  const { listener } = lease;
  if (lease.reclaim !== 'due' || !listener) return;
  lease.reclaim = 'delivered';
  guard(log, () => listener({ graceSeconds }));
}

function makeListeners(log: (line: string) => void) {
  const listeners = new Set<() => void>();
  return {
    count: () => listeners.size,
    call: () => {
      // One that unsubscribes another during the round is heeded; one that is added waits for the next.
      for (const listener of Array.from(listeners)) if (listeners.has(listener)) guard(log, listener);
    },
    add: (listener: () => void): (() => void) => {
      // One of its own for every call: the same function may be subscribed twice.
      const own = () => listener();
      listeners.add(own);
      return () => listeners.delete(own);
    },
  };
}

/** One listener's fault must not keep the others from hearing. */
function guard(log: (line: string) => void, action: () => void): void {
  try {
    action();
  } catch (error) {
    log(`a listener of the Spot market failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}
