/** The question of a stored decision put again, from what was stored and on record before it. */

import { factsWith } from '@tidewheel/catalog/hardware.ts';
import { UnreadableRecordError } from '@tidewheel/kit/errors.ts';
import { check } from '@tidewheel/kit/validation.ts';
import * as z from 'zod';
import { type Observation, observationsOfOthers } from '../belief/attempt-observations.ts';
import { typesOf } from '../candidates/topologies.ts';
import { type PlacementInput, storedQuestion } from '../decision/situation.ts';
import { agedTo } from '../market/market-memory.ts';
import { furthestProgress, type PlacedAttempt, type PlacedRun } from '../records/attempts.ts';
import type { PoolOutcomeStore } from '../records/market-history.ts';
import {
  type PlacementDecision,
  placementDecisionSchema,
  type StoredDecision,
  samePool,
} from '../records/placement-records.ts';

export interface DecisionToReplay {
  readonly run: PlacedRun;
  /** Lists those of the run, oldest first. */
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

/**
 * Adds to the question what other runs had met by then in pools of its types and of `types`.
 * @returns undefined without a stored question
 * @throws UnreadableRecordError
 */
export async function questionBesideOthers(
  poolOutcomes: PoolOutcomeStore,
  replay: DecisionToReplay,
  types: readonly string[] = [],
): Promise<PlacementInput | undefined> {
  const question = questionOf(replay);
  if (question === undefined) return undefined;
  const instanceTypes = [...typesOf(question.compute, factsWith(question.hardware)), ...types];
  const asked = { runId: replay.run.runId, instanceTypes, now: new Date(question.now) };
  return { ...question, observations: await observationsOfOthers(poolOutcomes, asked) };
}

/** The same question at a later time: all attempts are known, and what the market said has aged. */
export function questionAt(
  question: PlacementInput,
  { now, attempts, progress }: Pick<PlacementInput, 'attempts' | 'progress'> & { readonly now: Date },
): PlacementInput {
  const market = agedTo(question.market, now, question.now);
  return { ...question, market, now: now.toISOString(), attempts, progress };
}

/** Whether two decisions come to the same pool and gang, or both to waiting or to giving up. */
export function sameChoice(a: PlacementDecision, b: PlacementDecision): boolean {
  if (a.kind !== 'launch' || b.kind !== 'launch') return a.kind === b.kind;
  return (
    samePool(a.placement.pool, b.placement.pool) && a.placement.topology.nodes === b.placement.topology.nodes
  );
}

// Tables are edited by hand: what a stored decision must still hold to be shown and put again.

const priced = z.array(z.object({ instanceType: z.string(), hourlyUsd: z.number() }));
const market = z.object({
  region: z.string(),
  scores: z.array(z.object({ zoneId: z.string(), score: z.number() })),
  spotPrices: priced,
  onDemandPrices: priced,
  zones: z.array(z.object({ zoneId: z.string() })),
  notes: z.array(z.string()),
});
const time = z.string().refine((text) => Number.isFinite(Date.parse(text)), 'is no time');
const questionSchema = z.object({
  market,
  elsewhere: z.array(z.object({ market })).optional(),
  closedAt: time,
  sealedAt: time.optional(),
  now: time,
});

const decisionSchema = placementDecisionSchema.refine(
  (decision) => decision.kind !== 'launch' || time.safeParse(decision.placement.decidedAt).success,
  { path: ['placement', 'decidedAt'], message: 'is no time' },
);

/** Why a decision cannot be shown and put again, with the remedy; undefined where it can. */
export function whyUnreadable(decision: StoredDecision): string | undefined {
  const damage = damageIn(decisionSchema, decision, 'decision');
  if (damage !== undefined) return damage;
  try {
    return damageIn(questionSchema, storedQuestion(decision), 'question');
  } catch (error: unknown) {
    if (error instanceof UnreadableRecordError) return error.message;
    throw error;
  }
}

/** The first thing that is missing or wrong, as `field: what`. */
function damageIn(schema: z.ZodType, document: unknown, name: string): string | undefined {
  const checked = check(schema, document, 'hidden');
  const [problem] = checked.ok ? [] : checked.problems;
  return problem && `${name} ${problem.path}: ${problem.message}; its item in the table is damaged`;
}
