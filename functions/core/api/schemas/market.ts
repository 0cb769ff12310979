/** What the API says of the market: scores, prices, and what our own attempts met. */
import * as z from 'zod';
import { list, time, usd } from '../../shared/fields.ts';

export const marketQuery = z.strictObject({
  days: z.coerce.number().int().min(1).max(90).default(7).describe('How far back.'),
});

const seen = z.object({
  at: time,
  score: z
    .number()
    .optional()
    .describe('Spot placement score, 1 to 10: the best of all questions that name this type.'),
  spotUsd: usd.optional().describe('Price of one instance in an hour.'),
});

export const marketAnswer = z.object({
  since: time,
  pools: list(
    z.object({
      instanceType: z.string(),
      zoneId: z.string(),
      score: z.number().optional(),
      spotUsd: usd.optional(),
      onDemandUsd: usd.optional(),
      readAt: time.optional().describe('When AWS was last read.'),
      history: list(seen).describe('At most 60, oldest first.'),
      luck: z
        .object({ kept: z.number().int(), lost: z.number().int(), refused: z.number().int() })
        .describe('Spot attempts of this account that ended: kept, interrupted, or without capacity.'),
    }),
  ),
  running: list(
    z.object({
      runId: z.string(),
      attempt: z.number().int(),
      instanceType: z.string(),
      zoneId: z.string().optional(),
      purchaseOption: z.enum(['spot', 'on-demand']),
      nodes: z.number().int(),
      since: time,
    }),
  ).describe('Attempts that hold capacity, or wait for it.'),
});
