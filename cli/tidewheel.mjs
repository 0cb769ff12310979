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

/** What these run on this machine is Python. */
const NEEDS_PYTHON = ['up', 'try'];

async function main(args) {
  const asksForHelp = args.includes('--help') || args.includes('-h');
  await setUp({ develop: false, python: NEEDS_PYTHON.includes(args[0]) && !asksForHelp });
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
