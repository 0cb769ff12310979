/** What the API says of runs side by side. */
import * as z from 'zod';
import { runStatusSchema } from '../../runs/run-records.ts';
import { list, usd } from '../../shared/fields.ts';
import { namesText } from './operation.ts';

const MOST_RUNS = 20;

export const compareQuery = z.strictObject({
  runs: namesText
    .refine((names) => names.length >= 2 && names.length <= MOST_RUNS, `name 2 to ${MOST_RUNS} runs`)
    .describe('Such as digits-000041,digits-000042.'),
  metric: z.string().min(1).optional().describe('A series; absent: one that all runs have, a loss first.'),
});

const share = z.number().describe('Share of 1.');

const row = z.object({
  runId: z.string(),
  status: runStatusSchema,
  strategy: z.string().optional(),
  topology: z.string().optional().describe('Of the longest measured one, such as 2 x g5.xlarge.'),
  samplesPerSecond: z.number().optional(),
  usdPerMillionSamples: usd.optional(),
  stepSeconds: z.object({ median: z.number(), p95: z.number() }).optional(),
  cpuBusy: share.optional(),
  gpuBusy: share.optional(),
  costUsd: usd,
  costToMetricUsd: usd.optional().describe('Paid when the run first reached the value of the metric.'),
});

export const compareAnswer = z.object({
  rows: list(row),
  metric: z
    .object({ name: z.string(), value: z.number() })
    .optional()
    .describe('What every run that logged it has reached; absent without such a metric.'),
});
