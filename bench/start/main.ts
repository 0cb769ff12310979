/**
 * What a command of the clone costs as a whole process, beside a bare Node: CPU and memory, medians of rounds in which each
 * runs once, so that a busy machine slows all alike.
 */
import path from 'node:path';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { startApi } from '../../test/support/world/api-server.ts';
import { ground } from '../../test/support/world/ground.ts';
import { costsBesideNode } from '../whole-processes.ts';
import { inWorkFolder } from '../work-folder.ts';

const USAGE = `npm run bench:start -- [OPTIONS]

Measures CPU and memory of commands, each a process of its own.

  --rounds N   21: runs each so many times and prints the medians`;

const schema = z.object({ rounds: wholeNumber(1).default(21) });

const PROGRAM = path.join(import.meta.dirname, '../../cli/tidewheel.mjs');
const NODE = process.execPath;
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  help: [NODE, PROGRAM, 'help'],
  '--version': [NODE, PROGRAM, '--version'],
  'no such verb': [NODE, PROGRAM, 'lgos'],
  'no such option': [NODE, PROGRAM, 'stop', '--nwo'],
  runs: [NODE, PROGRAM, 'runs'],
};

await runCommand(USAGE, async (args) => {
  const { rounds } = readCommandLine(args, { schema }).values;
  await inWorkFolder('start', async (folder) => {
    const api = await startApi(ground(), 'ada');
    const { PATH } = process.env;
    const environment = { PATH, HOME: folder, TIDEWHEEL_API_URL: api.url, TIDEWHEEL_TOKEN: 'abc' };
    const costs = await costsBesideNode(COMMANDS, rounds, environment).finally(() => api.stop());
    console.table(Object.fromEntries(costs));
  });
  return 0;
});
