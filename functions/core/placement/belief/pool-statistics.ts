/** What a month of attempts says of a pool in the long run, beyond what their newest sightings say of the moment. */
import type { Pool } from '../../runs/run-records.ts';
import type { Observation } from './observation.ts';

export interface PoolRecord {
  /** How often capacity was had, and how often it was refused. */
  readonly had: number;
  readonly refused: number;
  /** How long it was held, all together, and how often it was taken away. */
  readonly heldSeconds: number;
  readonly lost: number;
}

export type PoolRecords = ReadonlyMap<string, PoolRecord>;

type Named = Pick<Pool, 'instanceType' | 'zoneId' | 'purchaseOption' | 'region' | 'launcher'>;

const keyOf = ({ instanceType, zoneId, purchaseOption, region, launcher }: Named): string =>
  `${instanceType} ${zoneId ?? ''} ${purchaseOption} ${region ?? ''} ${launcher}`;

const NOTHING: PoolRecord = { had: 0, refused: 0, heldSeconds: 0, lost: 0 };

/** Newer sightings are in the belief of the moment already and are not counted twice. */
const COUNTED_FROM_MILLISECONDS = 7 * 86_400_000;
const COUNTED_TO_MILLISECONDS = 30 * 86_400_000;

/** @param sightings in any order; an attempt is counted once, by the sighting of its end */
export function recordsOf(sightings: readonly Observation[], nowMilliseconds: number): PoolRecords {
  const records = new Map<string, PoolRecord>();
  for (const { seen, atMilliseconds: at, heldSinceMilliseconds: since, quota, ...pool } of sightings) {
    const age = nowMilliseconds - at;
    if (quota === true || age <= COUNTED_FROM_MILLISECONDS || age > COUNTED_TO_MILLISECONDS) continue;
    const isStart = seen === 'up' && since === undefined;
    if (isStart) continue;
    const key = keyOf(pool);
    const known = records.get(key) ?? NOTHING;
    records.set(key, {
      had: known.had + (since === undefined ? 0 : 1),
      refused: known.refused + (seen === 'refused' ? 1 : 0),
      lost: known.lost + (seen === 'lost' ? 1 : 0),
      heldSeconds: known.heldSeconds + (since === undefined ? 0 : Math.max(0, at - since) / 1_000),
    });
  }
  return records;
}

export const recordFor = (records: PoolRecords | undefined, pool: Named): PoolRecord =>
  records?.get(keyOf(pool)) ?? NOTHING;

/** The fitted chain counts as so many attempts and as so many losses; a stated prior. */
const PRIOR_ATTEMPTS = 6;
const PRIOR_LOSSES = 2;

/** The share of time with capacity, from the chain's own share and what was met. */
export const longRunShare = (chainShare: number, { had, refused }: PoolRecord): number =>
  (PRIOR_ATTEMPTS * chainShare + had) / (PRIOR_ATTEMPTS + had + refused);

/** Mean seconds until a loss, from the chain's own and what was met; attempts that ended well count as time without one. */
export const meanUpSeconds = (chainSeconds: number, { heldSeconds, lost }: PoolRecord): number =>
  (PRIOR_LOSSES * chainSeconds + heldSeconds) / (PRIOR_LOSSES + lost);
