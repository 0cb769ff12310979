/**
 * What a cold start pays before the handler runs: size of each function's bundle, and CPU of a process that loads it,
 * beside a bare Node in the same run. Lambda gives 512 MB a third of a CPU: 200 ms of CPU take 0.6 s there.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { costsBesideNode } from '../whole-processes.ts';
import { inWorkFolder } from '../work-folder.ts';

const MOST_KILOBYTES = 800;
const MOST_TIMES = 5;

const USAGE = `npm run bench:bundles -- [OPTIONS]

Measures size and load time of every function's bundle: exit code 1 if one has over ${MOST_KILOBYTES} KB, or takes over
${MOST_TIMES} times the CPU of a bare Node.

  --rounds N   7: loads each bundle so many times and prints the medians`;

const COLUMNS = ['name', 'kilobytes', 'cpuMilliseconds', 'timesBareNode', 'withSourceMaps'];
const schema = z.object({ rounds: wholeNumber(1).default(7) });

/** Loads a bundle and ends. */
const loading = (file: string, ...options: readonly string[]): readonly string[] => [
  process.execPath,
  ...options,
  '--input-type=module',
  '--eval',
  'await import(process.argv[1]); process.exit();',
  file,
];

function packageInto(folder: string): void {
  execFileSync(path.join('node_modules', '.bin', 'osls'), ['package', '--package', folder], {
    stdio: 'ignore',
    env: {
      ...process.env,
      AWS_ACCESS_KEY_ID: 'none',
      AWS_SECRET_ACCESS_KEY: 'none',
      AWS_REGION: 'us-east-1',
    },
  });
}

function unpacked(folder: string, name: string): string {
  const into = path.join(folder, name);
  execFileSync('python3', ['-m', 'zipfile', '-e', `${into}.zip`, into]);
  return path.join(into, 'functions', 'handlers', name, 'handler.mjs');
}

await runCommand(USAGE, async (args) => {
  const { rounds } = readCommandLine(args, { schema }).values;
  return inWorkFolder('bundles', async (folder) => {
    packageInto(folder);
    const names = readdirSync(folder).flatMap((file) =>
      file.endsWith('.zip') ? path.basename(file, '.zip') : [],
    );
    const files = new Map(names.map((name) => [name, unpacked(folder, name)]));
    const commands = [...files].flatMap(([name, file]) => [
      [name, loading(file)],
      [`${name}, source maps`, loading(file, '--enable-source-maps')],
    ]);
    // Lambda has none (docs/decisions/0074), and `npm run` sets it.
    const { NODE_COMPILE_CACHE: _, ...env } = process.env;
    const costs = await costsBesideNode(Object.fromEntries(commands), rounds, env);
    const rows = Array.from(files, ([name, file]) => ({
      name,
      kilobytes: Math.ceil(statSync(file).size / 1_000),
      cpuMilliseconds: costs.get(name)?.cpuMilliseconds,
      timesBareNode: costs.get(name)?.timesBareNode ?? Number.NaN,
      withSourceMaps: costs.get(`${name}, source maps`)?.timesBareNode,
    }));
    console.table([{ name: 'bare Node', ...costs.get('bare Node') }, ...rows], COLUMNS);
    const above = rows.filter((row) => row.kilobytes > MOST_KILOBYTES || !(row.timesBareNode <= MOST_TIMES));
    console.log(`above the limits: ${above.map(({ name }) => name).join(', ') || 'none'}`);
    return above.length === 0 ? 0 : 1;
  });
});
