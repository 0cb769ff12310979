/**
 * Long-run statistics of a pool from a month of attempts; the newest observations feed the belief of the moment
 * instead.
 */
import { assumed } from '../model/assumed.ts';
import type { Pool } from '../records/placement-records.ts';
import type { Observation } from './attempt-observations.ts';

export interface PoolRecord {
  /** How often attempts got capacity, and how often they did not. */
  readonly had: number;
  readonly capacityErrors: number;
  /** Total time that attempts held capacity, and how often they lost it. */
  readonly heldSeconds: number;
  readonly lost: number;
}

export type PoolRecords = ReadonlyMap<string, PoolRecord>;

type Named = Pick<Pool, 'instanceType' | 'zoneId' | 'purchaseOption' | 'region' | 'launcher'>;

const keyOf = ({ instanceType, zoneId, purchaseOption, region, launcher }: Named): string =>
  `${instanceType} ${zoneId ?? ''} ${purchaseOption} ${region ?? ''} ${launcher}`;

const NOTHING: PoolRecord = { had: 0, capacityErrors: 0, heldSeconds: 0, lost: 0 };

/** Newer observations are already in the belief of the moment and are not counted twice. */
const COUNTED_FROM_MILLISECONDS = 7 * 86_400_000;
const COUNTED_TO_MILLISECONDS = 30 * 86_400_000;

/** @param observations in any order; an attempt is counted once, by the observation of its end */
export function recordsOf(observations: readonly Observation[], nowMilliseconds: number): PoolRecords {
  const records = new Map<string, PoolRecord>();
  for (const { seen, atMilliseconds: at, heldSinceMilliseconds: since, quota, ...pool } of observations) {
    const age = nowMilliseconds - at;
    if (quota === true || age <= COUNTED_FROM_MILLISECONDS || age > COUNTED_TO_MILLISECONDS) continue;
    const isStart = seen === 'up' && since === undefined;
    if (isStart) continue;
    const key = keyOf(pool);
    const known = records.get(key) ?? NOTHING;
    records.set(key, {
      had: known.had + (since === undefined ? 0 : 1),
      capacityErrors: known.capacityErrors + (seen === 'capacityError' ? 1 : 0),
      lost: known.lost + (seen === 'lost' ? 1 : 0),
      heldSeconds: known.heldSeconds + (since === undefined ? 0 : Math.max(0, at - since) / 1_000),
    });
  }
  return records;
}

export const recordFor = (records: PoolRecords | undefined, pool: Named): PoolRecord =>
  records?.get(keyOf(pool)) ?? NOTHING;

/** The share of time with capacity, from the chain's share and the statistics. */
export const longRunShare = (chainShare: number, { had, capacityErrors }: PoolRecord): number =>
  (assumed.chainAttempts * chainShare + had) / (assumed.chainAttempts + had + capacityErrors);

/**
 * Mean seconds until a loss, from the chain's mean and the statistics; attempts that ended well count as time without
 * a loss.
 */
export const meanUpSeconds = (chainSeconds: number, { heldSeconds, lost }: PoolRecord): number =>
  (assumed.chainLosses * chainSeconds + heldSeconds) / (assumed.chainLosses + lost);
