/** Turns attempts into pool outcomes, and pool outcomes into observations for the placements of other runs. */

import { familyOf } from '@tidewheel/declaration/instance-types.ts';
import { assumed } from '../model/assumed.ts';
import type { PlacedAttempt } from '../records/attempts.ts';
import type { PoolOutcome, PoolOutcomeStore } from '../records/market-history.ts';
import { namedPools, type Placement, type Pool, samePool } from '../records/placement-records.ts';

/** An observation of a pool's capacity at one time. */
export interface Observation extends Pool {
  readonly atMilliseconds: number;
  /** Refused because of a quota, not for lack of capacity. */
  readonly quota?: true | undefined;
  /** lost: an attempt had capacity and lost it; capacityError: an attempt got none. */
  readonly seen: 'up' | 'lost' | 'capacityError';
  /** The placement score at the request, on an attempt's first observation. */
  readonly score?: number | undefined;
  /** On an attempt's last observation: since when it had capacity. Absent if it never had any. */
  readonly heldSinceMilliseconds?: number | undefined;
}

/** Undefined while the attempt goes on: its outcome may still change. */
export function poolOutcomeOf(attempt: PlacedAttempt): PoolOutcome | undefined {
  const { outcome, placement } = attempt;
  if (outcome === undefined) return undefined;
  const score = scoreOf(placement);
  return {
    ...placement.pool,
    runId: attempt.runId,
    attempt: attempt.attempt,
    ...(outcome.quota === undefined ? {} : { quota: outcome.quota }),
    nodes: placement.topology.nodes,
    ...(score === undefined ? {} : { score }),
    requestedAt: attempt.createdAt,
    startedAt: outcome.startedAt,
    endedAt: outcome.endedAt ?? attempt.updatedAt,
    end: endOf(outcome.kind),
  };
}

function endOf(kind: NonNullable<PlacedAttempt['outcome']>['kind']): PoolOutcome['end'] {
  switch (kind) {
    case 'capacity':
      return 'capacityError';
    case 'interrupted':
      return 'lost';
    case 'completed':
    case 'timeLimit':
    case 'serviceError':
    case 'userError':
    case 'recalled':
    case 'stopped':
      return 'kept';
  }
}

/** The score of the pool that was chosen. */
const scoreOf = ({ considered, pool }: Placement): number | undefined =>
  considered.find((each) => samePool(each.pool, pool))?.score;

/** Observations from a run's own attempts, the same that other runs get. */
export const observationsOf = (attempts: readonly PlacedAttempt[]): readonly Observation[] =>
  observationsFrom(
    attempts.flatMap((attempt) => {
      const met = poolOutcomeOf(attempt);
      if (met === undefined) return [];
      return attempt.outcome?.fault === undefined ? [met, ...refusedBeside(met, attempt)] : [avoided(met)];
    }),
  );

/** One request named further types, and none of them had capacity. Its score counts once, and a quota is of one type. */
const refusedBeside = (met: PoolOutcome, { placement }: PlacedAttempt): readonly PoolOutcome[] =>
  met.end === 'capacityError' && !met.quota
    ? namedPools(placement)
        .slice(1)
        .map(({ instanceType }) => ({ ...met, instanceType, score: undefined }))
    : [];

/** The pool had capacity, as other runs learn. This run looks for working hosts elsewhere. */
const avoided = (met: PoolOutcome): PoolOutcome => ({
  ...met,
  score: undefined,
  startedAt: undefined,
  end: 'capacityError',
});

const secondsFrom = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 1_000;

/** What outcomes say of capacity, in the words that beliefs are made from: up from start to end, down at a capacity error or a loss. */
const observationsFrom = (outcomes: readonly PoolOutcome[]): readonly Observation[] =>
  outcomes.flatMap(({ quota, score, requestedAt, startedAt, endedAt, end, ...pool }) => {
    const at = (time: string, seen: Observation['seen']): Observation => ({
      ...pool,
      atMilliseconds: Date.parse(time),
      ...(quota !== undefined && seen === 'capacityError' ? { quota } : {}),
      seen,
    });
    // A score is about the moment of the request: capacity that came after a wait says nothing about it.
    const wasPrompt = startedAt !== undefined && secondsFrom(requestedAt, startedAt) <= assumed.promptSeconds;
    const start =
      startedAt === undefined ? [] : [{ ...at(startedAt, 'up'), ...(wasPrompt ? { score } : {}) }];
    // Only the first observation carries the score; a quota error says nothing about the score.
    const isFirst = start.length === 0 && quota === undefined;
    const last = {
      ...at(endedAt, end === 'kept' ? 'up' : end),
      ...(startedAt === undefined ? {} : { heldSinceMilliseconds: Date.parse(startedAt) }),
      ...(end === 'capacityError' && isFirst ? { score } : {}),
    };
    // An attempt without capacity and without a capacity error observed nothing.
    return end === 'kept' && startedAt === undefined ? [] : [...start, last];
  });

/** The last week feeds the belief of the moment: the slowest common regime lasts two days. */
export const RECENT_MILLISECONDS = 7 * 86_400_000;
/** The weeks before are the pool's statistics. */
const MEMORY_MILLISECONDS = 30 * 86_400_000;

/** Observations of all other runs in the families of these types. */
export async function observationsOfOthers(
  poolOutcomes: PoolOutcomeStore,
  question: { readonly runId: string; readonly instanceTypes: readonly string[]; readonly now: Date },
): Promise<readonly Observation[]> {
  const since = new Date(question.now.getTime() - MEMORY_MILLISECONDS).toISOString();
  const families = new Set(question.instanceTypes.map(familyOf));
  const met = await Promise.all([...families].map((family) => poolOutcomes.list(family, since)));
  return observationsFrom(met.flat().filter(({ runId }) => runId !== question.runId));
}

// Long-run statistics of a pool from a month of attempts; the newest observations feed the belief of the moment
// instead.

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

/** @param observations in any order; an attempt is counted once, by the observation of its end */
export function recordsOf(observations: readonly Observation[], nowMilliseconds: number): PoolRecords {
  const records = new Map<string, PoolRecord>();
  for (const { seen, atMilliseconds: at, heldSinceMilliseconds: since, quota, ...pool } of observations) {
    const age = nowMilliseconds - at;
    if (quota === true || age <= RECENT_MILLISECONDS || age > MEMORY_MILLISECONDS) continue;
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
