/**
 * What a script printed or logged: lines of a file an attempt, one for each start of the script and one for each point.
 *
 * In: schemas for `readDocument`. Out: starts, each followed by its points. Errors: none. `runs/series.ts` joins them, and
 * the agent reads where earlier starts stood. Both kinds of line are of one version.
 */
import * as z from 'zod';
import { absent, type HostDocument } from './document.ts';

const VERSION = 1;

export const seriesStart = {
  name: 'series',
  version: VERSION,
  schema: z.object({
    /** Unix seconds. */
    startedAt: z.number(),
    /** The checkpoint that was there: its step, and Unix seconds. */
    resumedFrom: absent(z.object({ step: z.number(), savedAt: z.number() })),
  }),
} satisfies HostDocument;

export const seriesPoint = {
  name: 'series',
  version: VERSION,
  schema: z.object({
    /** How the script gave it: `log`, `tensorboard`, `wandb`, `mlflow`, `csv`, `trainer_state` or `model`. */
    source: z.string().max(40),
    unit: z.enum(['step', 'epoch']),
    position: z.number(),
    /** Unix seconds. */
    at: z.number().min(0).max(8e12),
    /** null stands for infinity and NaN, which JSON does not have. */
    values: z.record(z.string(), z.number().nullable()),
  }),
} satisfies HostDocument;
export type SeriesPoint = z.output<typeof seriesPoint.schema>;
