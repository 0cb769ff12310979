/** The capacity traces of a folder, each read once. */
import { join } from 'node:path';
import { readTraceFile } from '@tidewheel/emulators/spot-market/scripts/trace-file.ts';

export interface Trace {
  readonly tickSeconds: number;
  /** Available instances in each tick. */
  readonly capacity: readonly number[];
}

/** A file that cannot be replayed: each problem names the file, the field, what it is and what to give instead. */
class TraceError extends Error {
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
  const checked = readTraceFile(file);
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
