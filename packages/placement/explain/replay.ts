/** Puts the question of a stored decision again, from what was stored with it and what was on record before it. */

import { factsWith } from '@tidewheel/catalog/hardware.ts';
import type { Observation } from '../belief/observation.ts';
import { type PlacementInput, storedQuestion } from '../decision/situation.ts';
import { refreshedBy } from '../market/market-memory.ts';
import { furthestProgress, type PlacedAttempt, type PlacedRun } from '../records/attempts.ts';
import { type PlacementDecision, type StoredDecision, samePool } from '../records/placement-records.ts';

export interface DecisionToReplay {
  readonly run: PlacedRun;
  /** Of the run, oldest first. */
  readonly attempts: readonly PlacedAttempt[];
  /** The number of the attempt that was decided on. */
  readonly attempt: number;
  readonly decision: StoredDecision;
  /** What other runs had met by then; what they met later is left out by its time. */
  readonly observations?: readonly Observation[] | undefined;
}

/**
 * @returns undefined: the run has no declaration, so nothing was ever decided
 * @throws UnreadableRecordError
 */
export function questionOf(replay: DecisionToReplay): PlacementInput | undefined {
  const { run, attempts, attempt, decision, observations } = replay;
  if (!run.declaration) return undefined;
  const { compute, limits, training } = run.declaration;
  const { version: _, ...stored } = storedQuestion(decision);
  const before = attempts.filter((each) => each.attempt < attempt);
  return {
    ...stored,
    compute,
    limits,
    training,
    attempts: before,
    progress: furthestProgress(before),
    observations,
  };
}

/** The same question at a later time: all attempts are known, and what the market said has aged. */
export function questionAt(
  question: PlacementInput,
  { now, attempts, progress }: Pick<PlacementInput, 'attempts' | 'progress'> & { readonly now: Date },
): PlacementInput {
  const { compute, market, hardware } = question;
  const aged = refreshedBy([], market, {
    compute,
    hardware: factsWith(hardware),
    region: market.region,
    now,
    readAt: question.now,
  });
  return { ...question, market: aged, now: now.toISOString(), attempts, progress };
}

/** Whether two decisions come to the same pool and gang, or both to waiting or to giving up. */
export function sameChoice(a: PlacementDecision, b: PlacementDecision): boolean {
  if (a.kind !== 'launch' || b.kind !== 'launch') return a.kind === b.kind;
  return (
    samePool(a.placement.pool, b.placement.pool) && a.placement.topology.nodes === b.placement.topology.nodes
  );
}
