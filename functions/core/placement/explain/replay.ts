/** Puts the question of a stored decision again, from what was stored with it and what was on record before it. */
import { ASSUMED_SPOT_SHARE } from '../../catalog/launchers/launcher-facts.ts';
import { furthestProgress } from '../../runs/progress.ts';
import {
  type AttemptRecord,
  type PlacementDecision,
  type PoolAssessment,
  type RunRecord,
  samePool,
} from '../../runs/run-records.ts';
import type { Observation } from '../belief/observation.ts';
import { type PlacementInput, type StoredQuestion, storedQuestion } from '../decision/situation.ts';
import type { MarketView, OnDemandPrice } from '../model/market-source.ts';

export interface DecisionToReplay {
  readonly run: RunRecord;
  /** Of the run, oldest first. */
  readonly attempts: readonly AttemptRecord[];
  /** The number of the attempt that was decided on. */
  readonly attempt: number;
  readonly decision: PlacementDecision;
  /** What other runs had met by then; what they met later is left out by its time. */
  readonly observations?: readonly Observation[] | undefined;
}

const ANY_ZONE = 'any';

/** When it was decided: stored with the decision, or for waits of an older format the run's last change. */
export const decidedAt = (decision: PlacementDecision, run: Pick<RunRecord, 'updatedAt'>): string =>
  storedQuestion(decision)?.now ??
  (decision.kind === 'launch' ? decision.placement.decidedAt : run.updatedAt);

/** undefined: the run has no declaration, so nothing was ever decided. */
export function questionOf(replay: DecisionToReplay): PlacementInput | undefined {
  const { run, attempts, attempt, decision, observations } = replay;
  if (!run.declaration) return undefined;
  const { compute, limits, training } = run.declaration;
  const stored = storedQuestion(decision);
  const before = attempts.filter((each) => each.attempt < attempt);
  return {
    ...(stored ?? rebuilt(run, decision)),
    compute,
    limits,
    // A decision of an older format was made without it, and its table does not name the region that images are known for.
    ...(stored === undefined ? {} : { training }),
    attempts: before,
    progress: furthestProgress(before),
    observations,
  };
}

/** A decision of before questions were stored: the market is read back from its table, as far as that goes. */
function rebuilt(run: RunRecord, decision: PlacementDecision): StoredQuestion {
  const launched = decision.kind === 'launch' ? decision.placement : undefined;
  const rows = (decision.kind === 'launch' ? decision.placement.considered : decision.considered).filter(
    ({ hourlyUsd }) => hourlyUsd > 0,
  );
  return {
    market: marketOf(rows),
    closedAt: run.closedAt ?? run.createdAt,
    now: decidedAt(decision, run),
    helpersHourlyUsd: launched?.helpersHourlyUsd,
    expectedSeconds: launched?.expectedSeconds,
  };
}

/** The prices of the table are SageMaker's, Spot's share included, so the share is what they say it is. */
function marketOf(rows: readonly PoolAssessment[]): MarketView {
  const spot = rows.filter(({ pool }) => pool.purchaseOption === 'spot');
  const zoneOf = ({ pool }: PoolAssessment): string => pool.zoneId ?? ANY_ZONE;
  return {
    region: 'as stored',
    scores: spot.flatMap((row) =>
      row.score === undefined ? [] : [{ zoneId: zoneOf(row), score: row.score }],
    ),
    spotPrices: spot.map((row) => ({
      instanceType: row.pool.instanceType,
      zoneId: zoneOf(row),
      hourlyUsd: row.hourlyUsd,
      // As asked then: a zone that had no row then was not offered, and is not offered in the replay.
      basis: 'asked' as const,
    })),
    onDemandPrices: [...new Set(rows.map(({ pool }) => pool.instanceType))].map((type) =>
      onDemandOf(type, rows),
    ),
    zones: [],
    notes: ['a decision of an older format: the market is read back from its table'],
  };
}

/** A Spot-only pipeline's table holds no On-Demand row; its price is then guessed back, and says so. */
function onDemandOf(instanceType: string, rows: readonly PoolAssessment[]): OnDemandPrice {
  const own = rows.filter(({ pool }) => pool.instanceType === instanceType);
  const listed = own.find(({ pool }) => pool.purchaseOption === 'on-demand');
  const dearest = Math.max(...own.map(({ hourlyUsd }) => hourlyUsd));
  const hourlyUsd = listed?.hourlyUsd ?? dearest / ASSUMED_SPOT_SHARE;
  const note = listed ? 'as stored' : 'On-Demand price not stored, guessed from Spot';
  return { instanceType, hourlyUsd, basis: listed ? 'listed' : 'estimated', note, ec2HourlyUsd: hourlyUsd };
}

/** Whether two decisions come to the same pool and gang, or both to waiting or to giving up. */
export function sameChoice(a: PlacementDecision, b: PlacementDecision): boolean {
  if (a.kind !== 'launch' || b.kind !== 'launch') return a.kind === b.kind;
  return (
    samePool(a.placement.pool, b.placement.pool) && a.placement.topology.nodes === b.placement.topology.nodes
  );
}
