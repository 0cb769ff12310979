/** Capacity traces in the published format: {"metadata": {"gap_seconds": 600}, "data": [instances to be had, per tick]}. */
import { join } from 'node:path';
import * as z from 'zod';
import { checkFields, readJson } from './json-file.ts';

const SECONDS = 'give the whole seconds of a tick, 1 or more';
const COUNTS = 'give how many instances were to be had in each tick, 0 or more';

const traceSchema = z.object(
  {
    metadata: z.object(
      { gap_seconds: z.number(SECONDS).int(SECONDS).positive(SECONDS) },
      'give {"gap_seconds": 600}',
    ),
    data: z.array(z.number(COUNTS).min(0, COUNTS), COUNTS).min(1, COUNTS),
  },
  'give {"metadata": {"gap_seconds": 600}, "data": [1, 0]}',
);

export interface Trace {
  readonly tickSeconds: number;
  /** Instances to be had in each tick. */
  readonly capacity: readonly number[];
}

/** A file that cannot be replayed: each problem names the file, the field, what it is and what to give instead. */
export class TraceError extends Error {
  override readonly name = 'TraceError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(problems.join('\n'), options);
    this.problems = problems;
  }
}

const cache = new Map<string, Trace>();

/** @throws TraceError with every problem of the file */
export function readTrace(folder: string, path: string): Trace {
  const file = join(folder, path);
  const known = cache.get(file);
  if (known) return known;
  const content = readJson(file);
  const checked = content.ok ? checkFields(traceSchema, content.value) : content;
  if (!checked.ok) {
    const { cause } = checked;
    throw new TraceError(
      checked.problems.map((problem) => `${file} is no trace: ${problem}`),
      { cause },
    );
  }
  const { metadata, data } = checked.value;
  const trace = { tickSeconds: metadata.gap_seconds, capacity: data };
  cache.set(file, trace);
  return trace;
}

/** The problems of all those files together. */
export function traceProblems(folder: string, paths: Iterable<string>): readonly string[] {
  return [...new Set(paths)].flatMap((path) => {
    try {
      readTrace(folder, path);
      return [];
    } catch (error: unknown) {
      if (error instanceof TraceError) return error.problems;
      throw error;
    }
  });
}
