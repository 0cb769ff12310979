/** How long a pool is left alone after capacity errors. */

import type { Observation } from '../belief/observation.ts';
import type { Candidate } from '../candidates/pools.ts';
import type { PlacedAttempt } from '../records/attempts.ts';
import type { Pool } from '../records/placement-records.ts';
import type { Assessed } from './assessment.ts';

/** 1, 2, 4, ... minutes, at most 15; for a quota of the account 15, 30, 60, ... minutes, at most four hours. */
const backoffSeconds = ({ capacityErrors, quota }: Pick<Assessed, 'capacityErrors' | 'quota'>): number =>
  quota
    ? Math.min(LONGEST_QUOTA_COOLDOWN_SECONDS, 900 * 2 ** (capacityErrors - 1))
    : Math.min(900, 60 * 2 ** (capacityErrors - 1));

type CapacityErrorRecord = Pick<Assessed, 'capacityErrors' | 'quota' | 'lastCapacityErrorMilliseconds'>;
interface Moment {
  readonly nowMilliseconds: number;
}

/** Seconds until the run may try a pool again; 0 or less: now. */
export function cooldownSeconds(record: CapacityErrorRecord, { nowMilliseconds }: Moment): number {
  if (record.lastCapacityErrorMilliseconds === undefined) return 0;
  return backoffSeconds(record) - (nowMilliseconds - record.lastCapacityErrorMilliseconds) / 1_000;
}

/**
 * Whether a quota of the account forbids the pool now. After its cool-down the quota may have been raised, so the pool
 * is tried again.
 */
export const isLimited = (record: CapacityErrorRecord, moment: Moment): boolean =>
  record.quota && cooldownSeconds(record, moment) > 0;

/** Long enough for a quota that other jobs use up for a while. A quota of 0 lasts until a person raises it. */
const LONGEST_QUOTA_COOLDOWN_SECONDS = 4 * 3_600;

/** The recent capacity errors and losses of a pool. */
export type CapacityErrors = Pick<
  Assessed,
  | 'capacityErrors'
  | 'quota'
  | 'lastCapacityErrorMilliseconds'
  | 'lastLossMilliseconds'
  | 'lastZoneLossMilliseconds'
>;

/** A quota holds for an instance type in every zone of a region, separately for each purchase option and launcher. */
export const quotaKeyOf = ({ instanceType, purchaseOption, region, launcher }: Pool): string =>
  `${instanceType} ${purchaseOption} ${region ?? ''} ${launcher}`;

/** What AWS last said of each quota that refused an attempt, with the remedy; by `quotaKeyOf`. */
export const quotaRefusals = (attempts: readonly PlacedAttempt[]): ReadonlyMap<string, string> =>
  new Map(
    attempts.flatMap(({ placement, outcome }) =>
      outcome?.quota === true ? [[quotaKeyOf(placement.pool), outcome.message] as const] : [],
    ),
  );

const zoneKeyOf = ({ zoneId, purchaseOption }: Pick<Pool, 'zoneId' | 'purchaseOption'>): string =>
  `${zoneId ?? ''} ${purchaseOption}`;

/** @param observations oldest first; they are sorted once, for questions about hundreds of pools */
export function capacityErrorsIn(
  observations: readonly Observation[],
): (candidate: Pick<Candidate, 'pool'>) => CapacityErrors {
  const byKey = Map.groupBy(observations, quotaKeyOf);
  const lastInZone = new Map<string, Observation>();
  for (const each of observations) if (each.seen !== 'capacityError') lastInZone.set(zoneKeyOf(each), each);
  return ({ pool }) => {
    const last = pool.zoneId === undefined ? undefined : lastInZone.get(zoneKeyOf(pool));
    return {
      ...recentErrorsOf(pool, byKey.get(quotaKeyOf(pool)) ?? []),
      lastZoneLossMilliseconds: last?.seen === 'lost' ? last.atMilliseconds : undefined,
    };
  };
}

/** @param observations of its type in any zone */
function recentErrorsOf(
  { zoneId }: Pool,
  observations: readonly Observation[],
): Omit<CapacityErrors, 'lastZoneLossMilliseconds'> {
  let capacityErrors = 0;
  let quota = false;
  let lastCapacityErrorMilliseconds: number | undefined;
  let lastLossMilliseconds: number | undefined;
  for (const observation of observations) {
    // A quota holds in every zone, so capacity in any of them shows that it no longer stands in the way.
    const isOfLimit = observation.quota === true || (quota && observation.seen === 'up');
    if (observation.zoneId !== zoneId && !isOfLimit) continue;
    const refused = observation.seen === 'capacityError';
    capacityErrors = refused ? capacityErrors + 1 : 0;
    quota = refused && observation.quota === true;
    lastCapacityErrorMilliseconds = refused ? observation.atMilliseconds : undefined;
    if (observation.seen === 'lost') lastLossMilliseconds = observation.atMilliseconds;
  }
  return {
    capacityErrors: capacityErrors,
    quota,
    lastCapacityErrorMilliseconds: lastCapacityErrorMilliseconds,
    lastLossMilliseconds,
  };
}
