/** What the API says of money over all runs. */
import * as z from 'zod';
import { list, seconds, time, usd } from '../../shared/fields.ts';
import { unreadable } from './page.ts';

export const moneyQuery = z.strictObject({
  month: z
    .string()
    .regex(/^\d{4}-(0[1-9]|1[0-2])$/, 'write a month as 2026-11')
    .optional()
    .describe('Such as 2026-11, in UTC; absent: the current one.'),
});

const spent = {
  runs: z.number().int(),
  costUsd: usd,
  onDemandUsd: usd.describe('What the same useful work costs on On-Demand, without interruptions.'),
  lostSeconds: seconds.describe('Training that no checkpoint covered.'),
  lostUsd: usd.describe('The share of the cost that lost work has.'),
};

export const moneyAnswer = z.object({
  month: z.string(),
  from: time,
  to: time,
  total: z.object(spent),
  byPipeline: list(z.object({ pipeline: z.string(), ...spent })),
  byDay: list(z.object({ day: z.string(), costUsd: usd })),
  byPool: list(
    z.object({
      instanceType: z.string(),
      zoneId: z.string().optional(),
      purchaseOption: z.enum(['spot', 'on-demand']),
      attempts: z.number().int(),
      costUsd: usd,
      lostSeconds: seconds,
    }),
  ),
  isComplete: z.boolean().describe('false: there are more runs than were read; the sums are of the newest.'),
  unreadable,
});
