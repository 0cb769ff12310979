/** A stored decision as text, and its question put again, from what was stored and on record before it. */

import { factsWith } from '@tidewheel/catalog/hardware.ts';
import { launcherFacts, launcherSuffix } from '@tidewheel/catalog/launchers.ts';
import { UnreadableRecordError } from '@tidewheel/kit/errors.ts';
import { check } from '@tidewheel/kit/validation.ts';
import * as z from 'zod';
import { type Observation, observationsOfOthers } from '../belief/attempt-observations.ts';
import { typesOf } from '../candidates/topologies.ts';
import { type PlacementInput, storedQuestion } from '../decision/situation.ts';
import { refreshedBy } from '../market/market-memory.ts';
import { dollars, hours } from '../model/assumed.ts';
import { furthestProgress, type PlacedAttempt, type PlacedRun } from '../records/attempts.ts';
import type { PoolOutcomeStore } from '../records/market-history.ts';
import {
  type PlacementDecision,
  type PoolAssessment,
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

// A decision as text: the sentence, then the table.

/** @param at when it was decided: the forecast counts from here */
export function formatDecision(decision: PlacementDecision, at: string): string {
  const rows = decision.kind === 'launch' ? decision.placement.considered : decision.considered;
  const offers = decision.kind === 'giveUp' ? [] : (decision.offers ?? []);
  return [headline(decision), ...forecastLines(decision, at), ...offers, '', ...tableOf(rows)].join('\n');
}

function forecastLines(decision: PlacementDecision, at: string): readonly string[] {
  const expected = decision.kind === 'giveUp' ? undefined : decision.expected;
  if (expected === undefined) return [];
  const { seconds, usd, lateChance = 0 } = expected;
  const late = lateChance < 0.01 ? '' : `, late with a chance of ${Math.round(lateChance * 100)} %`;
  const by = (ahead: number): string => minuteAfter(at, ahead);
  return [
    `expected: done by ${by(seconds.expected)} (nine times in ten ${by(seconds.low)} to ${by(seconds.high)})${late}; the rest costs ${dollars(usd.expected)} (${dollars(usd.low)} to ${dollars(usd.high)})`,
  ];
}

function headline(decision: PlacementDecision): string {
  switch (decision.kind) {
    case 'launch': {
      const { pool, topology, reason, decidedAt } = decision.placement;
      const where = [pool.region, pool.zoneId ?? 'a zone of SageMaker’s choice'].filter(Boolean).join(' ');
      return `${decidedAt}: ${topology.nodes} x ${pool.instanceType}, ${pool.purchaseOption}, in ${where}, on ${launcherFacts[pool.launcher].serviceName}\n${reason}`;
    }
    case 'wait':
      return `wait ${decision.seconds} s\n${decision.reason}`;
    case 'giveUp':
      return `give up\n${decision.reason}`;
  }
}

const HEADS = ['pool', 'score', '$/h', 'there now', 'else in', 'lasts', 'cost', 'time', 'verdict'] as const;

function tableOf(rows: readonly PoolAssessment[]): readonly string[] {
  const cells = [HEADS, ...rows.map(cellsOf)];
  const widths = HEADS.map((_, k) => Math.max(...cells.map((row) => row[k]?.length ?? 0)));
  return cells.map((row) =>
    row.map((cell, k) => (k === row.length - 1 ? cell : cell.padEnd(widths[k] ?? 0))).join('  '),
  );
}

const hoursOrNone = (seconds: number | undefined): string => (seconds === undefined ? '-' : hours(seconds));

/** The price is of one node, cost and time are of the gang. Placement did not assess a pool that was left out. */
function cellsOf(row: PoolAssessment): readonly string[] {
  const { pool, topology, expectedSecondsBetween: between } = row;
  const helped = (topology.helpers ?? [])
    .map(({ nodes, instanceType }) => ` + ${nodes} x ${instanceType}`)
    .join('');
  const name = `${topology.nodes} x ${pool.instanceType}${helped} ${pool.zoneId ?? pool.region ?? '(any zone)'} ${pool.purchaseOption}${launcherSuffix(pool.launcher)}`;
  if (row.verdict.startsWith('left out')) return [name, '-', '-', '-', '-', '-', '-', '-', row.verdict];
  return [
    name,
    row.score === undefined ? '-' : String(row.score),
    row.hourlyUsd.toFixed(3),
    row.chanceNow === undefined ? '-' : `${Math.round(row.chanceNow * 100)} %`,
    row.chanceNow === 1 ? '-' : hoursOrNone(row.expectedWaitSeconds),
    hoursOrNone(row.expectedUpSeconds),
    row.expectedCostUsd === undefined ? '-' : dollars(row.expectedCostUsd),
    between
      ? `${hoursOrNone(row.expectedSeconds)} (${hours(between[0])} to ${hours(between[1])})`
      : hoursOrNone(row.expectedSeconds),
    row.verdict,
  ];
}

const minuteAfter = (at: string, seconds: number): string =>
  new Date(Date.parse(at) + seconds * 1_000).toISOString().slice(0, 16).replace('T', ' ');
