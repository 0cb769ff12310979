/**
 * `npm run size`: lines of product code and of tests by room, and words on pages for users.
 * `-- --since COMMIT` adds what came and went since that commit. Files as they stand here count, once git knows them.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { places } from './places.mjs';

/** Files that `npm run generate` writes. They cost no reader anything, so they do not count. */
const GENERATED = new Set([
  'skills/tidewheel/SKILL.md',
  'training/client/tidewheel_client/operations.py',
  'training/agent/for_scripts/tidewheel_contract/documents.py',
  'training/agent/tidewheel_agent/configuration/strategy_traits.py',
]);

const CODE = /\.(?:ts|tsx|mjs|cjs|js|py|sh)$/;
const TESTS = /(?:^|\/)tests?\//;
const RECORDS = /^docs\/(?:decisions|research)\//;

const lineCount = (text) => text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
const wordCount = (text) => text.split(/\s+/).filter(Boolean).length;

/**
 * Where a file counts and how much, or undefined for one that does not.
 * @param {string} file a path from the project's top
 * @param {string} text
 * @returns {{ kind: 'product' | 'tests' | 'prose', room: string, amount: number } | undefined}
 */
export function weigh(file, text) {
  if (GENERATED.has(file)) return undefined;
  const [room, ...rest] = file.split('/');
  const where = rest.length > 0 ? room : '(top)';
  const isTest = TESTS.test(file);
  if (CODE.test(file)) return { kind: isTest ? 'tests' : 'product', room: where, amount: lineCount(text) };
  if (!file.endsWith('.md') || isTest || RECORDS.test(file)) return undefined;
  return { kind: 'prose', room: where, amount: wordCount(text) };
}

/**
 * @param {Iterable<[file: string, text: string]>} files
 * @returns {Map<string, { product: number, tests: number, prose: number }>} by room
 */
export function sizeOf(files) {
  const rooms = new Map();
  for (const [file, text] of files) {
    const weight = weigh(file, text);
    if (!weight) continue;
    const sums = rooms.get(weight.room) ?? { product: 0, tests: 0, prose: 0 };
    sums[weight.kind] += weight.amount;
    rooms.set(weight.room, sums);
  }
  return rooms;
}

const KINDS = ['product', 'tests', 'prose'];
const NOTHING = { product: 0, tests: 0, prose: 0 };

const sumOf = (rooms) =>
  [...rooms.values()].reduce(
    (sum, room) => ({
      product: sum.product + room.product,
      tests: sum.tests + room.tests,
      prose: sum.prose + room.prose,
    }),
    NOTHING,
  );

/** A table by room, the heaviest first. With `before`, each figure is followed by what it gained or lost. */
export function sizeTable(now, before) {
  const change = (amount) => (amount === 0 ? '' : `${amount > 0 ? '+' : ''}${amount}`);
  const row = (name, room, former) =>
    name.padEnd(16) +
    KINDS.map(
      (kind) =>
        String(room[kind]).padStart(9) + (before ? change(room[kind] - former[kind]).padStart(8) : ''),
    ).join('');
  const names = [...new Set([...now.keys(), ...(before?.keys() ?? [])])];
  const at = (rooms, name) => rooms?.get(name) ?? NOTHING;
  names.sort((a, b) => at(now, b).product - at(now, a).product || a.localeCompare(b));
  const titles = ['product', 'tests', 'prose'].map((title) => title.padStart(9) + ' '.repeat(before ? 8 : 0));
  return [
    `${''.padEnd(16)}${titles.join('')}`,
    ...names.map((name) => row(name, at(now, name), at(before, name))),
    row('all', sumOf(now), before ? sumOf(before) : NOTHING),
  ]
    .map((line) => line.trimEnd())
    .join('\n');
}

const git = (...args) =>
  execFileSync('git', args, { cwd: places.root, maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'pipe'] });

const counts = (file) => CODE.test(file) || file.endsWith('.md');

function* filesHere() {
  for (const file of git('ls-files', '-z').toString().split('\0').filter(counts)) {
    const whole = path.join(places.root, file);
    if (existsSync(whole)) yield [file, readFileSync(whole, 'utf8')];
  }
}

/** One process answers for all files: a line `<object> blob <bytes>`, the bytes, a newline. https://git-scm.com/docs/git-cat-file */
function* filesOf(commit) {
  const listed = git('ls-tree', '-r', '-z', '--name-only', commit).toString().split('\0').filter(counts);
  const input = listed.map((file) => `${commit}:${file}\n`).join('');
  const answers = execFileSync('git', ['cat-file', '--batch'], {
    cwd: places.root,
    input,
    maxBuffer: 1 << 30,
  });
  let position = 0;
  for (const file of listed) {
    const end = answers.indexOf('\n', position);
    const bytes = Number(answers.toString('utf8', position, end).split(' ')[2]);
    yield [file, answers.toString('utf8', end + 1, end + 1 + bytes)];
    position = end + 1 + bytes + 1;
  }
}

const USAGE = `usage: npm run size [-- --since COMMIT]

Prints lines of product code and tests and words of users' pages by room. --since adds the difference to a commit.
`;

function main() {
  const { values } = parseArgs({
    options: { since: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help) return USAGE;
  const before = values.since === undefined ? undefined : sizeOf(filesOf(values.since));
  return `${sizeTable(sizeOf(filesHere()), before)}\n`;
}

if (import.meta.url === `file://${process.argv[1]}`) {
  try {
    process.stdout.write(main());
  } catch (error) {
    process.stderr.write(`${error.stderr?.toString().trim() || error.message}\n${USAGE}`);
    process.exitCode = 2;
  }
}
