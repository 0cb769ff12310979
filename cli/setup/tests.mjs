/** Runs every kind of test, and sums what they count. */
import { mkdirSync } from 'node:fs';
import { runHeavy } from './heavy.mjs';
import { places } from './places.mjs';
import { endingSignal } from './program.mjs';
import { runPytest, runPytestQuietly, runVitest } from './runners.mjs';

/** In this order: what fails fast comes first. */
export const PARTS = ['unit', 'contract', 'integration', 'e2e', 'python'];

/** Slow and rare: it runs only when it is named. */
export const HEAVY = 'heavy';

/** These wait for most of their time, so Python's tests use the other core meanwhile. */
const MOSTLY_WAITING = ['integration', 'e2e'];

/**
 * @param {string[]} parts some of PARTS and HEAVY
 * @param {{ limits?: Map<string, string[]>, again?: boolean }} options limits: by part, the files and folders to which it
 *   is limited; again: heavy tests only where they have not passed
 * @returns {Promise<{ passed: number, failed: number, skipped: number }>}
 */
export async function runTests(parts, { limits = new Map(), again = false } = {}) {
  const sum = { passed: 0, failed: 0, skipped: 0 };
  mkdirSync(places.results, { recursive: true });
  const only = (name) => limits.get(name) ?? [];
  const run = (part) => (part === HEAVY ? runHeavy({ again }) : runPart(part, only(part)));
  let pytest;
  for (const part of [...PARTS, HEAVY].filter((name) => parts.includes(name))) {
    if (MOSTLY_WAITING.includes(part) && parts.includes('python'))
      pytest ??= runPytestQuietly(only('python'));
    process.stdout.write(`\n── ${part} ──\n`);
    addCounts(sum, part, await (part === 'python' && pytest ? pytest : run(part)));
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

const runPart = (part, only) => (part === 'python' ? runPytest(only) : runVitest(part, only));

/**
 * The one line that says it all.
 * @param {{ passed: number, failed: number, skipped: number }} counts
 */
export const closingLine = ({ passed, failed, skipped }) =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
