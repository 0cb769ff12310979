/** When a batch of arrivals is complete, and what holds where a pipeline does not say. `ingest/settle.ts` decides by it. */
import * as z from 'zod';

const seconds = (minimum: number, maximum: number) => z.number().int().min(minimum).max(maximum);

export const settleSchema = z.strictObject({
  quietSeconds: seconds(1, 86_400)
    .default(60)
    .describe('A batch is complete when nothing changed under incoming/ for this long.'),
  maximumWaitSeconds: seconds(1, 7 * 86_400)
    .default(3_600)
    .describe('A batch is closed after this long even if objects keep arriving.'),
  marker: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('An object with this name under incoming/ closes the batch at once, e.g. _SUCCESS.'),
});
