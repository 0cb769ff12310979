/**
 * The heavy tests, file by file, two at a time: many of them wait for most of their time. Each result is kept, so that
 * `--again` runs only what has not passed.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { places } from './places.mjs';
import { endingSignal, runInForeground } from './program.mjs';
import { quietly, runPytest, runVitest } from './runners.mjs';

const AT_ONCE = 2;
/** They take a third of the whole, each. */
const FIRST = ['sagemaker-projects.test.ts', 'test_saved_by_frameworks.py'];
const RESULTS = path.join(places.results, 'heavy.json');

/**
 * @param {{ again: boolean }} options
 * @returns {Promise<{ passed: number, failed: number, skipped: number }>} of all files, with those that had passed before
 */
export async function runHeavy({ again }) {
  const results = again && existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')) : {};
  const files = heavyFiles();
  const waiting = files.filter((file) => !(results[file]?.failed === 0));
  say(`${files.length - waiting.length} files have passed before, ${waiting.length} are left`);
  const recipes = path.join(places.root, 'cli/recipes/recipes-cli.ts');
  const prepared = runInForeground([places.node, recipes, '--all', '--prepare']);
  const worker = async () => {
    for (let file = waiting.shift(); file && !endingSignal(); file = waiting.shift()) {
      // These make their own environments. The others only look for those of the recipes.
      if (!FIRST.includes(path.basename(file))) await prepared;
      const result = await runFile(file, results[file]);
      if (endingSignal()) return;
      results[file] = result;
      writeFileSync(RESULTS, JSON.stringify(results, undefined, 1));
      say(`${line(file, result)}; ${files.filter((each) => results[each]).length} of ${files.length} files`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const found = files.flatMap((file) => results[file] ?? []);
  const sum = (key) => found.reduce((all, result) => all + result[key], 0);
  return { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
}

const say = (text) => process.stdout.write(`${new Date().toTimeString().slice(0, 8)} ${text}\n`);

const line = (file, { passed, failed, seconds }) =>
  `${failed === 0 ? '✓' : '✗'} ${file}: ${passed} passed, ${failed} failed, ${seconds} s`;

const filesBelow = (folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(folder, name))
    .sort();

/** Relative to the project's folder, where the commands run. */
function heavyFiles() {
  const vitest = filesBelow('test/heavy').filter((file) => file.endsWith('.test.ts'));
  const pytest = filesBelow('training/tests').filter(
    (file) => /\btest_\w+\.py$/.test(file) && readFileSync(file, 'utf8').includes('mark.heavy'),
  );
  const place = (file) => (FIRST.includes(path.basename(file)) ? 0 : 1);
  return [...vitest, ...pytest].sort((a, b) => place(a) - place(b));
}

async function runFile(file, before) {
  const name = `heavy-${path.basename(file).replace(/\.\w+$/, '')}`;
  say(`▸ ${file} (${path.relative(places.root, places.results)}/${name}.log)`);
  const started = Date.now();
  // pytest knows which tests of a file had failed.
  const isRest = file.endsWith('.py') && before?.passed > 0;
  const pytest = [file, '-m', 'heavy', '-vv', '-o', `cache_dir=${places.results}/${name}`];
  const { output, ...counts } = await quietly(name, (options) =>
    file.endsWith('.py')
      ? runPytest([...pytest, ...(isRest ? ['--lf'] : [])], options)
      : runVitest('heavy', [file], options),
  );
  if (counts.failed > 0) process.stdout.write(`${output.slice(-SHOWN)}\n`);
  const seconds = Math.round((Date.now() - started) / 1_000) + (isRest ? before.seconds : 0);
  return { ...counts, passed: counts.passed + (isRest ? before.passed : 0), seconds };
}

/** Characters of what a failed file has printed. */
const SHOWN = 4_000;
