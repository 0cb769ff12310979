/** Puts the question of a stored decision again, from what was stored with it and what was on record before it. */

import type { Observation } from '../belief/observation.ts';
import { type PlacementInput, storedQuestion } from '../decision/situation.ts';
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

/** Whether two decisions come to the same pool and gang, or both to waiting or to giving up. */
export function sameChoice(a: PlacementDecision, b: PlacementDecision): boolean {
  if (a.kind !== 'launch' || b.kind !== 'launch') return a.kind === b.kind;
  return (
    samePool(a.placement.pool, b.placement.pool) && a.placement.topology.nodes === b.placement.topology.nodes
  );
}
