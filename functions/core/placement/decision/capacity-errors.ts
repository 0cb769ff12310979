/** What the last refusals of a pool say, and how long it is left alone for them. */
import type { Pool } from '../../runs/run-records.ts';
import type { Sighting } from '../belief/observation.ts';
import type { Candidate } from '../candidates/pools.ts';
import type { Assessed } from './assessment.ts';

/** 1, 2, 4, ... minutes, a quarter of an hour at most; for a limit of the account 15, 30, 60, ... minutes, four hours at most. */
export const backoffSeconds = ({ refusals, quota }: Pick<Assessed, 'refusals' | 'quota'>): number =>
  quota
    ? Math.min(LONGEST_QUOTA_REST_SECONDS, 900 * 2 ** (refusals - 1))
    : Math.min(900, 60 * 2 ** (refusals - 1));

type Refused = Pick<Assessed, 'refusals' | 'quota' | 'lastRefusalMilliseconds'>;
interface Moment {
  readonly nowMilliseconds: number;
}

/** How long a pool that refused us should still be left alone; 0 or less: it may be asked. */
export function restSeconds(refused: Refused, { nowMilliseconds }: Moment): number {
  if (refused.lastRefusalMilliseconds === undefined) return 0;
  return backoffSeconds(refused) - (nowMilliseconds - refused.lastRefusalMilliseconds) / 1_000;
}

/** Whether a limit of the account stands in the way now. Once its rest is over it may have been lifted, and is tried. */
export const isLimited = (refused: Refused, moment: Moment): boolean =>
  refused.quota && restSeconds(refused, moment) > 0;

/** Of a limit that is in use by other jobs; one that is 0 is raised by people. */
const LONGEST_QUOTA_REST_SECONDS = 4 * 3_600;

/** What the last refusals and losses of a pool come to. */
export type Refusals = Pick<
  Assessed,
  'refusals' | 'quota' | 'lastRefusalMilliseconds' | 'lastLossMilliseconds' | 'lastZoneLossMilliseconds'
>;

/** A limit of the account holds for the type in every zone of the region, apart for each market and launcher. */
const keyOf = ({ instanceType, market, region, launcher }: Pool): string =>
  `${instanceType} ${market} ${region ?? ''} ${launcher ?? ''}`;

const zoneKeyOf = ({ zoneId, market }: Pick<Pool, 'zoneId' | 'market'>): string =>
  `${zoneId ?? ''} ${market}`;

/** @param sightings oldest first; they are sorted once, and hundreds of pools are asked about */
export function refusalsIn(sightings: readonly Sighting[]): (candidate: Pick<Candidate, 'pool'>) => Refusals {
  const byKey = Map.groupBy(sightings, keyOf);
  const lastInZone = new Map<string, Sighting>();
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
  sightings: readonly Sighting[],
): Omit<Refusals, 'lastZoneLossMilliseconds'> {
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
  return { refusals, quota, lastRefusalMilliseconds, lastLossMilliseconds };
}
