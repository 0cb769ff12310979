/** What the last refusals of a pool say, and how long it is left alone for them. */
import { type Pool, samePool } from '../records.ts';
import type { Assessed } from './assess.ts';
import type { Sighting } from './beliefs.ts';
import type { Candidate } from './pools.ts';

/** 1, 2, 4, ... minutes, a quarter of an hour at most; for a limit of the account 15, 30, 60, ... minutes, four hours at most. */
export const backoffSeconds = ({ refusals, quota }: Pick<Assessed, 'refusals' | 'quota'>): number =>
  quota
    ? Math.min(LONGEST_QUOTA_REST_SECONDS, 900 * 2 ** (refusals - 1))
    : Math.min(900, 60 * 2 ** (refusals - 1));

/** Of a limit that is in use by other jobs; one that is 0 is raised by people. */
const LONGEST_QUOTA_REST_SECONDS = 4 * 3_600;

/** A limit of the account holds for the type in every zone of the region, apart for each market and launcher. */
const concerns = (sighting: Sighting, pool: Pool): boolean =>
  samePool(sighting.quota === true ? { ...sighting, zoneId: pool.zoneId } : sighting, pool);

type Refused =
  | 'refusals'
  | 'quota'
  | 'lastRefusalMilliseconds'
  | 'lastLossMilliseconds'
  | 'lastZoneLossMilliseconds';

export function refusalsOf({ pool }: Candidate, sightings: readonly Sighting[]): Pick<Assessed, Refused> {
  let refusals = 0;
  let quota = false;
  let lastRefusalMilliseconds: number | undefined;
  let lastLossMilliseconds: number | undefined;
  for (const sighting of sightings) {
    if (!concerns(sighting, pool)) continue;
    const refused = sighting.seen === 'refused';
    refusals = refused ? refusals + 1 : 0;
    quota = refused && sighting.quota === true;
    lastRefusalMilliseconds = refused ? sighting.atMilliseconds : undefined;
    if (sighting.seen === 'lost') lastLossMilliseconds = sighting.atMilliseconds;
  }
  const lastZoneLossMilliseconds = zoneLossOf(pool, sightings);
  return { refusals, quota, lastRefusalMilliseconds, lastLossMilliseconds, lastZoneLossMilliseconds };
}

function zoneLossOf({ zoneId, market }: Pool, sightings: readonly Sighting[]): number | undefined {
  if (zoneId === undefined) return undefined;
  const last = sightings.findLast(
    (each) => each.zoneId === zoneId && each.market === market && each.seen !== 'refused',
  );
  return last?.seen === 'lost' ? last.atMilliseconds : undefined;
}
