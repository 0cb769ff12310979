/** Runs every kind of test, and sums what they count. */
import { mkdirSync } from 'node:fs';
import { runHeavy } from './heavy.mjs';
import { places } from './places.mjs';
import { endingSignal } from './program.mjs';
import { quietly, runPytest, runVitest } from './runners.mjs';

/** In this order: what fails fast comes first. */
export const PARTS = ['unit', 'contract', 'integration', 'e2e', 'python'];

/** Slow and rare: it runs only when it is named. */
export const HEAVY = 'heavy';

/** Python's tests go on beside e2e. A third part beside them saved no time on two cores. */
const SIDE_BY_SIDE = ['integration', 'python'];

/**
 * @param {string[]} parts some of PARTS and HEAVY
 * @param {{ limits?: Map<string, string[]>, again?: boolean }} options limits: by part, the files and folders to which it
 *   is limited; again: heavy tests only where they have not passed
 * @returns {Promise<{ passed: number, failed: number, skipped: number }>}
 */
export async function runTests(parts, { limits = new Map(), again = false } = {}) {
  const sum = { passed: 0, failed: 0, skipped: 0 };
  mkdirSync(places.results, { recursive: true });
  const run = (part, options) =>
    part === HEAVY ? runHeavy({ again }) : runPart(part, limits.get(part) ?? [], options);
  const [shown, ...beside] = SIDE_BY_SIDE.filter((part) => parts.includes(part));
  const begun = new Map();
  for (const part of [...PARTS, HEAVY].filter((name) => parts.includes(name))) {
    if (part === shown)
      for (const other of beside)
        begun.set(
          other,
          quietly(other, (options) => run(other, options)),
        );
    process.stdout.write(`\n── ${part} ──\n`);
    addCounts(sum, part, await (begun.get(part) ?? run(part)));
    const signal = endingSignal();
    if (signal === undefined) continue;
    process.stdout.write(`Ended by ${signal}: the rest was not run, which counts as a failure.\n`);
    sum.failed = Math.max(1, sum.failed);
    break;
  }
  return sum;
}

function addCounts(sum, part, counts) {
  process.stdout.write(counts.output ?? '');
  if (counts.passed + counts.failed + counts.skipped === 0) {
    process.stdout.write(`No ${part} test ran: that counts as a failure.\n`);
    counts.failed = 1;
  }
  for (const key of Object.keys(sum)) sum[key] += counts[key];
}

/** Two processes, since each waits for much of its time; a file's tests share what it makes. */
const IN_TWO = ['--numprocesses=2', '--dist=loadfile'];

const runPart = (part, only, options) =>
  part === 'python' ? runPytest([...IN_TWO, ...only], options) : runVitest(part, only, options);

/**
 * The one line that says it all.
 * @param {{ passed: number, failed: number, skipped: number }} counts
 */
export const closingLine = ({ passed, failed, skipped }) =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
