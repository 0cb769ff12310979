#!/usr/bin/env node
/**
 * `npx tidewheel` in a clone: sets up what the verb needs, then runs it on the project's own Node.
 * Node 14 still reads it, to get the message about itself.
 */
import path from 'node:path';
import { SetupError } from './setup/machine.mjs';
import { places } from './setup/places.mjs';
import { runInForeground } from './setup/program.mjs';
import { setUp } from './setup/set-up.mjs';
import { UP_HELP, upArguments } from './setup/start-options.mjs';
import { startRegion } from './setup/start-region.mjs';

/** Exit code of words that are wrong: cli/command/exit.ts, which needs packages. */
const INPUT_NEEDED = 8;

async function main(args) {
  const [verb, ...words] = args;
  if (verb === 'up') return startRegion(upArguments(words), { help: UP_HELP, wrongCode: INPUT_NEEDED });
  const asksForHelp = args.includes('--help') || args.includes('-h');
  await setUp({ develop: false, python: verb === 'try' && !asksForHelp });
  return runInForeground([places.node, path.join(places.root, 'cli', 'tidewheel.ts'), ...args], {
    // npm and npx change to the project's folder; the person stands elsewhere.
    cwd: process.env.INIT_CWD || process.cwd(),
  });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  process.stderr.write(`\n${error.message}\n`);
  process.exitCode = 1;
}
