/** What function.ts and its parent both know. */
import * as z from 'zod';

export const BUCKET = 'bench';
export const PIPELINE = 'tide';

export const spentSchema = z.object({
  outcome: z.string(),
  /** Of the longest invocation. */
  seconds: z.number(),
  cpuSeconds: z.number(),
  peakMegabytes: z.number(),
});
export type Spent = z.infer<typeof spentSchema>;
