/** Stored decisions outlive releases, and tables are edited by hand: what one must still hold to be shown and put again. */
import * as z from 'zod';
import { check } from '../../shared/validation.ts';

const pool = z.object({ instanceType: z.string(), purchaseOption: z.enum(['spot', 'on-demand']) });
const considered = z.array(
  z.object({
    pool,
    hourlyUsd: z.number(),
    expectedCostUsd: z.number(),
    expectedSeconds: z.number(),
    verdict: z.string(),
  }),
);
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
const question = z
  .object({
    market,
    elsewhere: z.array(z.object({ market })).optional(),
    closedAt: time,
    sealedAt: time.optional(),
    now: time,
  })
  .optional();

const decisionSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('launch'),
    question,
    placement: z.object({
      pool,
      topology: z.object({ nodes: z.number() }),
      reason: z.string(),
      considered,
      decidedAt: time,
    }),
  }),
  z.object({ kind: z.literal('wait'), question, seconds: z.number(), reason: z.string(), considered }),
  z.object({ kind: z.literal('giveUp'), question, reason: z.string(), considered }),
]);

/** The first thing that is missing or wrong in it, as `field: what`; undefined where all is there. */
export function damageIn(decision: unknown): string | undefined {
  const checked = check(decisionSchema, decision, 'hidden');
  const [problem] = checked.ok ? [] : checked.problems;
  return problem && `${problem.path || 'decision'}: ${problem.message}`;
}
