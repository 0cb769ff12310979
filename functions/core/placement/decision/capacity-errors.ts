/** What the last refusals of a pool say, and how long it is left alone for them. */
import type { Pool } from '../../runs/run-records.ts';
import type { Observation } from '../belief/observation.ts';
import type { Candidate } from '../candidates/pools.ts';
import type { Assessed } from './assessment.ts';

/** 1, 2, 4, ... minutes, a quarter of an hour at most; for a limit of the account 15, 30, 60, ... minutes, four hours at most. */
export const backoffSeconds = ({
  capacityErrors,
  quota,
}: Pick<Assessed, 'capacityErrors' | 'quota'>): number =>
  quota
    ? Math.min(LONGEST_QUOTA_COOLDOWN_SECONDS, 900 * 2 ** (capacityErrors - 1))
    : Math.min(900, 60 * 2 ** (capacityErrors - 1));

type Refused = Pick<Assessed, 'capacityErrors' | 'quota' | 'lastCapacityErrorMilliseconds'>;
interface Moment {
  readonly nowMilliseconds: number;
}

/** How long a pool that refused us should still be left alone; 0 or less: it may be asked. */
export function cooldownSeconds(refused: Refused, { nowMilliseconds }: Moment): number {
  if (refused.lastCapacityErrorMilliseconds === undefined) return 0;
  return backoffSeconds(refused) - (nowMilliseconds - refused.lastCapacityErrorMilliseconds) / 1_000;
}

/** Whether a limit of the account stands in the way now. Once its rest is over it may have been lifted, and is tried. */
export const isLimited = (refused: Refused, moment: Moment): boolean =>
  refused.quota && cooldownSeconds(refused, moment) > 0;

/** Of a limit that is in use by other jobs; one that is 0 is raised by people. */
const LONGEST_QUOTA_COOLDOWN_SECONDS = 4 * 3_600;

/** What the last refusals and losses of a pool come to. */
export type CapacityErrors = Pick<
  Assessed,
  | 'capacityErrors'
  | 'quota'
  | 'lastCapacityErrorMilliseconds'
  | 'lastLossMilliseconds'
  | 'lastZoneLossMilliseconds'
>;

/** A limit of the account holds for the type in every zone of the region, apart for each market and launcher. */
const keyOf = ({ instanceType, purchaseOption, region, launcher }: Pool): string =>
  `${instanceType} ${purchaseOption} ${region ?? ''} ${launcher}`;

const zoneKeyOf = ({ zoneId, purchaseOption }: Pick<Pool, 'zoneId' | 'purchaseOption'>): string =>
  `${zoneId ?? ''} ${purchaseOption}`;

/** @param sightings oldest first; they are sorted once, and hundreds of pools are asked about */
export function capacityErrorsIn(
  sightings: readonly Observation[],
): (candidate: Pick<Candidate, 'pool'>) => CapacityErrors {
  const byKey = Map.groupBy(sightings, keyOf);
  const lastInZone = new Map<string, Observation>();
  for (const each of sightings) if (each.seen !== 'refused') lastInZone.set(zoneKeyOf(each), each);
  return ({ pool }) => {
    const last = pool.zoneId === undefined ? undefined : lastInZone.get(zoneKeyOf(pool));
    return {
      ...refusalsOf(pool, byKey.get(keyOf(pool)) ?? []),
      lastZoneLossMilliseconds: last?.seen === 'lost' ? last.atMilliseconds : undefined,
    };
  };
}

/** @param sightings of its type in any zone */
function refusalsOf(
  { zoneId }: Pool,
  sightings: readonly Observation[],
): Omit<CapacityErrors, 'lastZoneLossMilliseconds'> {
  let refusals = 0;
  let quota = false;
  let lastRefusalMilliseconds: number | undefined;
  let lastLossMilliseconds: number | undefined;
  for (const sighting of sightings) {
    // A limit holds in every zone, and capacity in any of them shows that it does so no longer.
    const isOfLimit = sighting.quota === true || (quota && sighting.seen === 'up');
    if (sighting.zoneId !== zoneId && !isOfLimit) continue;
    const refused = sighting.seen === 'refused';
    refusals = refused ? refusals + 1 : 0;
    quota = refused && sighting.quota === true;
    lastRefusalMilliseconds = refused ? sighting.atMilliseconds : undefined;
    if (sighting.seen === 'lost') lastLossMilliseconds = sighting.atMilliseconds;
  }
  return {
    capacityErrors: refusals,
    quota,
    lastCapacityErrorMilliseconds: lastRefusalMilliseconds,
    lastLossMilliseconds,
  };
}
