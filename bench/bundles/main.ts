/**
 * What a cold start pays before the handler runs: size of each function's bundle, and CPU to load it, in a Node.js of its
 * own. Lambda gives 512 MB a third of a CPU: 200 ms of CPU take 0.6 s there.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

const HELP = `Measures size and load time of every function's bundle.

  node bench/bundles/main.ts [--rounds N] [--json]

  --rounds N   loads each bundle N times and prints the least (default 7)
  --json       prints JSON`;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(HELP);
  process.exit(0);
}
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error(`--rounds ${values.rounds}: give a whole number from 1\n\n${HELP}`);
  process.exit(2);
}

const LOAD = `
const before = process.cpuUsage();
await import(process.argv[1]);
const { user, system } = process.cpuUsage(before);
console.log((user + system) / 1000);
process.exit();`;

function loadMilliseconds(file: string): number {
  const all = Array.from({ length: rounds }, () =>
    Number(
      execFileSync(process.execPath, ['--input-type=module', '--eval', LOAD, file], { encoding: 'utf8' }),
    ),
  );
  return Math.min(...all);
}

const folder = mkdtempSync(path.join(tmpdir(), 'tidewheel-bundles-'));
try {
  execFileSync(path.join('node_modules', '.bin', 'osls'), ['package', '--package', folder], {
    stdio: 'ignore',
    env: {
      ...process.env,
      AWS_ACCESS_KEY_ID: 'none',
      AWS_SECRET_ACCESS_KEY: 'none',
      AWS_REGION: 'us-east-1',
    },
  });
  const rows = readdirSync(folder)
    .filter((file) => file.endsWith('.zip'))
    .map((file) => {
      const name = file.replace(/\.zip$/, '');
      const into = path.join(folder, name);
      execFileSync('python3', ['-m', 'zipfile', '-e', path.join(folder, file), into]);
      const bundle = path.join(into, 'functions', name, 'handler.mjs');
      return {
        function: name,
        kilobytes: Math.round(statSync(bundle).size / 1_000),
        loadMilliseconds: Math.round(loadMilliseconds(bundle)),
      };
    });
  if (values.json) console.log(JSON.stringify(rows));
  else console.table(rows);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
