/** Runs users' regular expressions over log lines, in a thread of its own and with a time limit: they are hostile input. */
import { createContext, Script } from 'node:vm';
import { parentPort } from 'node:worker_threads';

export interface ScanRequest {
  readonly id: number;
  readonly patterns: readonly string[];
  readonly lines: readonly string[];
}

export interface ScanAnswer {
  readonly id: number;
  /** What the first group of a pattern caught, with the pattern's and the line's numbers. */
  readonly hits: readonly { readonly pattern: number; readonly line: number; readonly value: number }[];
  /** Patterns that could not be used, and why. */
  readonly unusable: readonly { readonly pattern: number; readonly reason: string }[];
}

const TIME_LIMIT_MS = 200;

// V8 checks a time limit inside a regular expression's backtracking only for code that runs under vm.
const scan = new Script(
  'lines.map((line) => { const match = pattern.exec(line); return match ? (match[1] ?? match[0]) : undefined; })',
);

export function scanLines({ id, patterns, lines }: ScanRequest): ScanAnswer {
  const hits: ScanAnswer['hits'][number][] = [];
  const unusable: ScanAnswer['unusable'][number][] = [];
  patterns.forEach((source, pattern) => {
    try {
      const caught: unknown = scan.runInContext(createContext({ pattern: compile(source), lines }), {
        timeout: TIME_LIMIT_MS,
      });
      if (!Array.isArray(caught)) return;
      caught.forEach((text: unknown, line) => {
        const value = typeof text === 'string' && text.trim() !== '' ? Number(text) : Number.NaN;
        if (Number.isFinite(value)) hits.push({ pattern, line, value });
      });
    } catch (error) {
      unusable.push({ pattern, reason: error instanceof Error ? error.message : String(error) });
    }
  });
  return { id, hits, unusable };
}

/** MetricDefinitions are written for Python's or Java's syntax; named groups are all that differs in practice. */
const compile = (source: string): RegExp => new RegExp(source.replaceAll('(?P<', '(?<'));

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort?.on('message', (request: ScanRequest) => parentPort?.postMessage(scanLines(request)));
