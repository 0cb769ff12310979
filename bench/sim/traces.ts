/** Capacity traces in the published format: {"metadata": {"gap_seconds": 600}, "data": [instances to be had, per tick]}. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';

const traceSchema = z.object({
  metadata: z.object({ gap_seconds: z.number().positive() }),
  data: z.array(z.number().min(0)).min(1),
});

export interface Trace {
  readonly tickSeconds: number;
  /** Instances to be had in each tick. */
  readonly capacity: readonly number[];
}

export class TraceError extends Error {
  override readonly name = 'TraceError';
}

const cache = new Map<string, Trace>();

export function readTrace(folder: string, path: string): Trace {
  const file = join(folder, path);
  const known = cache.get(file);
  if (known) return known;
  let parsed: z.infer<typeof traceSchema>;
  try {
    parsed = traceSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error: unknown) {
    throw new TraceError(`${file} is no trace: it must hold metadata.gap_seconds and data`, { cause: error });
  }
  const trace = { tickSeconds: parsed.metadata.gap_seconds, capacity: parsed.data };
  cache.set(file, trace);
  return trace;
}
