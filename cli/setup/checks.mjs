/** Format, lint and types of TypeScript, Python and Markdown. Every check runs, even after another has failed. */
import path from 'node:path';
import { places } from './places.mjs';
import { runQuietly } from './program.mjs';

const python = places.venvPython;
const training = path.join(places.root, 'training');
const emulator = path.join(places.root, 'emulators', 'aws');
const clock = path.join(places.root, 'emulators', 'clock', 'python');
const ec2 = path.join(places.root, 'emulators', 'ec2');
const bench = path.join(places.root, 'bench');
const environments = path.join(places.root, 'emulators', 'environments');

const PYTHON_FOLDERS = ['training', 'emulators', 'test', 'bench', 'cli'];

const CHECKS = [
  { name: 'biome', command: ['biome', 'check', '--error-on-warnings'] },
  { name: 'oxlint', command: ['oxlint', '--type-aware', '--quiet'] },
  { name: 'tsc', command: ['tsc', '-p', '.'] },
  { name: 'tsc page', command: ['tsc', '-p', 'page'] },
  { name: 'knip', command: ['knip'] },
  // Exports that only tests import. The number may only shrink. What is left: contracts with Python and with AWS's models,
  // a bench's inside, single looks of loops, rules whose callers ask AWS, git or a market, and words before set-up.
  {
    name: 'knip without tests',
    command: ['knip', '--production', '--include', 'exports', '--max-issues', '16'],
  },
  { name: 'markdownlint', command: ['markdownlint-cli2'] },
  { name: 'ruff', command: ['ruff', 'check', ...PYTHON_FOLDERS] },
  { name: 'ruff format', command: ['ruff', 'format', '--check', ...PYTHON_FOLDERS] },
  { name: 'vulture training', command: [python, '-m', 'vulture'], cwd: training },
  { name: 'mypy training', command: [python, 'check_types.py'], cwd: training },
  { name: 'mypy emulators/aws', command: [python, '-m', 'mypy', '--strict', '.'], cwd: emulator },
  { name: 'mypy emulators/clock', command: [python, '-m', 'mypy', '--strict', '.'], cwd: clock },
  {
    name: 'mypy emulators/environments',
    command: [python, '-m', 'mypy', '--strict', '.'],
    cwd: environments,
  },
  { name: 'mypy bench', command: [python, '-m', 'mypy', '--strict', '.'], cwd: bench },
  { name: 'mypy emulators/ec2', command: [python, '-m', 'mypy', '--strict', '.'], cwd: ec2 },
];

/** As many at once as two cores carry. */
const AT_ONCE = 2;

/** @returns {Promise<{ passed: number, failed: number }>} */
export async function runChecks(out = process.stdout) {
  const waiting = [...CHECKS];
  const counts = { passed: 0, failed: 0 };
  const worker = async () => {
    for (let check = waiting.shift(); check; check = waiting.shift()) {
      const { code, output, seconds } = await runQuietly(check.command, check);
      out.write(`${code === 0 ? '✓' : '✗'} ${check.name} (${seconds.toFixed(1)} s)\n`);
      if (code !== 0) out.write(`${output.trimEnd()}\n\n`);
      counts[code === 0 ? 'passed' : 'failed'] += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return counts;
}

/** Puts in order what a program can. */
export async function formatAll() {
  const commands = [
    ['biome', 'check', '--write'],
    ['ruff', 'check', '--fix', '--exit-zero', ...PYTHON_FOLDERS],
    ['ruff', 'format', ...PYTHON_FOLDERS],
  ];
  let worst = 0;
  for (const command of commands) {
    const { code, output } = await runQuietly(command);
    process.stdout.write(output);
    worst = Math.max(worst, code);
  }
  return worst;
}
