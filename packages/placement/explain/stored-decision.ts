/** Tables are edited by hand: what a stored decision must still hold to be shown and put again. */

import { UnreadableRecordError } from '@tidewheel/kit/errors.ts';
import { check } from '@tidewheel/kit/validation.ts';
import * as z from 'zod';
import { storedQuestion } from '../decision/situation.ts';
import { placementDecisionSchema, type StoredDecision } from '../records/placement-records.ts';

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
