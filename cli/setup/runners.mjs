/** Runs vitest and pytest, and counts what really ran, from their own result files. */
import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { places } from './places.mjs';
import { runInForeground } from './program.mjs';

export async function runVitest(part, files, { name = `vitest-${part}`, stdio = 'inherit' } = {}) {
  const file = freshFile(`${name}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const words = ['run', '--project', part, '--passWithNoTests', ...reporters, ...files];
  const code = await runInForeground([places.node, vitest(), ...words], { stdio });
  return countVitest(textOf(file), code);
}

const vitest = () => path.join(places.nodeModules, 'vitest', 'vitest.mjs');

export async function runPytest(args, { name = 'pytest', stdio = 'inherit' } = {}) {
  const file = freshFile(`${name}.xml`);
  const cwd = path.join(places.root, 'training');
  const own = args.map((arg) => (arg.startsWith('training/') ? path.relative('training', arg) : arg));
  const command = [places.venvPython, '-m', 'pytest', '-q', `--junitxml=${file}`, ...own];
  const code = await runInForeground(command, { cwd, stdio });
  return countJunit(textOf(file), code);
}

/**
 * Keeps the output for the end, since other tests print meanwhile. A signal reaches it as it reaches them.
 * @param {string} name of the files with its result and its output
 * @param {(options: { name: string, stdio: unknown[] }) => Promise<Counts>} run
 */
export async function quietly(name, run) {
  const log = freshFile(`${name}.log`);
  const descriptor = openSync(log, 'w');
  try {
    const counts = await run({ name, stdio: ['ignore', descriptor, descriptor] });
    return { ...counts, output: textOf(log) };
  } catch (error) {
    return { passed: 0, failed: 1, skipped: 0, output: `${textOf(log)}${String(error)}\n` };
  } finally {
    closeSync(descriptor);
  }
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
