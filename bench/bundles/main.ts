/**
 * What a cold start pays before the handler runs: size of each function's bundle, and CPU to load it, in a Node.js of its
 * own. Lambda gives 512 MB a third of a CPU: 200 ms of CPU take 0.6 s there.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { inWorkFolder } from '../work-folder.ts';

const USAGE = `npm run bench:bundles -- [OPTIONS]

Measures size and load time of every function's bundle.

  --rounds N   7: loads each bundle so many times and prints the least`;

const schema = z.object({ rounds: wholeNumber(1).default(7) });

const LOAD = `
const before = process.cpuUsage();
await import(process.argv[1]);
const { user, system } = process.cpuUsage(before);
console.log((user + system) / 1000);
process.exit();`;

function loadMilliseconds(file: string, rounds: number): number {
  const all = Array.from({ length: rounds }, () =>
    Number(
      execFileSync(process.execPath, ['--input-type=module', '--eval', LOAD, file], { encoding: 'utf8' }),
    ),
  );
  return Math.min(...all);
}

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

function measureBundle(folder: string, name: string, rounds: number) {
  const into = path.join(folder, name);
  execFileSync('python3', ['-m', 'zipfile', '-e', `${into}.zip`, into]);
  const bundle = path.join(into, 'functions', 'handlers', name, 'handler.mjs');
  return {
    function: name,
    kilobytes: Math.round(statSync(bundle).size / 1_000),
    loadMilliseconds: Math.round(loadMilliseconds(bundle, rounds)),
  };
}

await runCommand(USAGE, async (args) => {
  const { rounds } = readCommandLine(args, { schema }).values;
  await inWorkFolder('bundles', async (folder) => {
    packageInto(folder);
    console.table(
      readdirSync(folder)
        .filter((file) => file.endsWith('.zip'))
        .map((file) => measureBundle(folder, path.basename(file, '.zip'), rounds)),
    );
  });
  return 0;
});
