/** Which tests a change can reach, for `npm test -- --changed`. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { places } from './places.mjs';

const TYPESCRIPT = ['unit', 'contract', 'integration', 'e2e'];
const ALL = [...TYPESCRIPT, 'python'];
const LAYERS = 'training/tests/test_layers.py';

/**
 * The first row that matches a path says which parts it reaches, and which of Python's tests (none named: all). Imports do
 * not tell: tests deploy functions, pack the agent and read pages. A test file alone reaches itself.
 * @type {[RegExp, string[], string[]?][]}
 */
const REACH = [
  // A file may have heavy tests alone, and a run without a test counts as failed.
  [/^training\/tests\/(.*\/)?test_\w+\.py$/, ['python'], ['$&', LAYERS]],
  [/^training\/tests\/(?!support\/|conftest)(\w+)\//, ['python'], ['training/tests/$1']],
  [/^training\/client\//, ['unit', 'python'], ['training/tests/client']],
  [/^training\/agent\/tidewheel_host\//, ALL, ['training/tests/host', LAYERS]],
  [/^training\//, ALL],
  [/^(?:test|emulators\/tests)\/(unit|contract|integration|e2e)\/.*\.test\.ts$/, ['$1'], ['$&']],
  [/^packages\/\w+\/tests\/.*\.test\.ts$/, ['unit'], ['$&']],
  [/\.md$/, ['unit']],
  [/^(packages\/contract|functions\/aws\/lambda)\//, ALL],
  [/^(functions|packages|statemachines|serverless|emulators|page|client|bench|test)\//, TYPESCRIPT],
];

/**
 * @param {string[]} paths relative to the project's folder
 * @returns {Map<string, string[]>} by part: the files and folders to which it is limited; empty: all of it
 */
export function reachOf(paths) {
  const reach = new Map();
  for (const changed of paths) {
    const [pattern, parts, named = []] = REACH.find(([each]) => each.test(changed)) ?? [/.*/, ALL];
    const fill = (text) => pattern.exec(changed)[0].replace(pattern, text);
    for (const part of parts.map(fill)) {
      const isLimited = named.length > 0 && (part === 'python' || parts.length === 1);
      const before = reach.get(part);
      const isAll = !isLimited || before?.length === 0;
      reach.set(part, isAll ? [] : [...new Set([...(before ?? []), ...named.map(fill)])]);
    }
  }
  return reach;
}

/** @param {string} commit since which; new files count, too, and a test that is gone reaches nothing */
export function changedSince(commit) {
  const git = (...args) => execFileSync('git', args, { cwd: places.root, encoding: 'utf8' });
  const known = git('diff', '--name-only', commit, '--');
  const paths = `${known}${git('ls-files', '--others', '--exclude-standard')}`.split('\n').filter(Boolean);
  return paths.filter(
    (each) => existsSync(path.join(places.root, each)) || !/\.test\.ts$|test_\w+\.py$/.test(each),
  );
}
