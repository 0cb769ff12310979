/** Runs every kind of test and counts what really ran, from the runners' own result files. */
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { places } from './places.mjs';
import { endingSignal, runInForeground } from './program.mjs';

/** In this order: what fails fast comes first. */
export const PARTS = ['unit', 'contract', 'integration', 'e2e', 'python'];

/** Slow and rare: it runs only when it is named. */
export const HEAVY = 'heavy';

/** These wait for most of their time, so Python's tests use the other core meanwhile. */
const MOSTLY_WAITING = ['integration', 'e2e'];

/**
 * @param {string[]} parts some of PARTS and HEAVY
 * @param {Map<string, string[]>} limits by part: the files and folders to which it is limited
 * @returns {Promise<{ passed: number, failed: number, skipped: number }>}
 */
export async function runTests(parts, limits = new Map()) {
  const sum = { passed: 0, failed: 0, skipped: 0 };
  mkdirSync(places.results, { recursive: true });
  let pytest;
  for (const part of [...PARTS, HEAVY].filter((name) => parts.includes(name))) {
    const only = (name) => limits.get(name) ?? [];
    if (MOSTLY_WAITING.includes(part) && parts.includes('python'))
      pytest ??= runPytestQuietly(only('python'));
    process.stdout.write(`\n── ${part} ──\n`);
    addCounts(sum, part, await (part === 'python' && pytest ? pytest : runPart(part, only(part))));
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

const runPart = (part, only) =>
  part === 'python' ? runPytest(only) : part === HEAVY ? runHeavy(only) : runVitest(part, only);

async function runHeavy(only) {
  const [vitest, pytest] = [await runVitest(HEAVY, only), await runPytest(['-m', HEAVY])];
  const sum = (key) => vitest[key] + pytest[key];
  return { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
}

async function runVitest(part, files) {
  const file = freshFile(`vitest-${part}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const code = await runInForeground([
    places.node,
    vitest(),
    'run',
    '--project',
    part,
    '--passWithNoTests',
    ...reporters,
    ...files,
  ]);
  return countVitest(textOf(file), code);
}

const vitest = () => path.join(places.nodeModules, 'vitest', 'vitest.mjs');

async function runPytest(args, { stdio = 'inherit' } = {}) {
  const file = freshFile('pytest.xml');
  const cwd = path.join(places.root, 'training');
  const own = args.map((arg) => (arg.startsWith('training/') ? path.relative('training', arg) : arg));
  const command = [places.venvPython, '-m', 'pytest', '-q', `--junitxml=${file}`, ...own];
  const code = await runInForeground(command, { cwd, stdio });
  return countJunit(textOf(file), code);
}

/** Keeps the output for the end, since other tests print meanwhile. A signal reaches it as it reaches them. */
async function runPytestQuietly(only) {
  const log = freshFile('pytest.log');
  const descriptor = openSync(log, 'w');
  const counts = await runPytest(only, { stdio: ['ignore', descriptor, descriptor] });
  closeSync(descriptor);
  return { ...counts, output: textOf(log) };
}

const textOf = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : undefined);

function freshFile(name) {
  const file = path.join(places.results, name);
  rmSync(file, { force: true });
  return file;
}

/**
 * A test file that could not be loaded has no tests in it and still is a failure; so is an error outside of any test.
 * @param {string | undefined} text of vitest's JSON report
 * @param {number} exitCode
 */
export function countVitest(text, exitCode) {
  if (text === undefined) return { passed: 0, failed: 1, skipped: 0 };
  const report = JSON.parse(text);
  const unloaded = report.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed'),
  ).length;
  const failed = report.numFailedTests + unloaded;
  return {
    passed: report.numPassedTests,
    failed: exitCode !== 0 && failed === 0 ? 1 : failed,
    skipped: report.numPendingTests + (report.numTodoTests ?? 0),
  };
}

/**
 * @param {string | undefined} text of pytest's JUnit report
 * @param {number} exitCode
 */
export function countJunit(text, exitCode) {
  const suite = /<testsuite\b[^>]*>/.exec(text ?? '')?.[0];
  if (!suite) return { passed: 0, failed: 1, skipped: 0 };
  const count = (name) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(suite)?.[1] ?? 0);
  const failed = count('failures') + count('errors');
  const skipped = count('skipped');
  // pytest's 5 means that there was no test; anything else without a failed test is an error of its own.
  const unexplained = failed === 0 && exitCode !== 0 && exitCode !== 5 ? 1 : 0;
  return { passed: count('tests') - failed - skipped, failed: failed + unexplained, skipped };
}

/**
 * The one line that says it all.
 * @param {{ passed: number, failed: number, skipped: number }} counts
 */
export const closingLine = ({ passed, failed, skipped }) =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
