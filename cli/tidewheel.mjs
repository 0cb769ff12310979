#!/usr/bin/env node
/**
 * The command line in a clone: sets up what the verb needs, builds the program where a source has changed, and runs it.
 * Node 14 still reads it, to get the message about itself.
 */
import module from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { builtProgram, currentProgram } from './setup/built-program.mjs';
import { places } from './setup/places.mjs';

/** Exit code of words that are wrong: cli/command/exit.ts, which needs packages. */
const INPUT_NEEDED = 8;

/** Node 22.15 and newer, which has all that a verb may need. */
const runsVerbs = module.enableCompileCache !== undefined && 'zstdDecompress' in (await import('node:zlib'));

async function main(args) {
  const [verb, ...words] = args;
  const asksForHelp = args.includes('--help') || args.includes('-h');
  if (verb === 'up') {
    const { UP_HELP, upArguments } = await import('./setup/start-options.mjs');
    const { startRegion } = await import('./setup/start-region.mjs');
    return startRegion(upArguments(words), { help: UP_HELP, wrongCode: INPUT_NEEDED });
  }
  const needsPython = verb === 'try' && !asksForHelp;
  const current = needsPython ? undefined : currentProgram();
  const program = current || (await setUpProgram(needsPython));
  // npm changes to the project's folder; the person stands elsewhere.
  const cwd = process.cwd() === places.root ? process.env.INIT_CWD || places.root : process.cwd();
  if (!runsVerbs) {
    const { runInForeground } = await import('./setup/program.mjs');
    return runInForeground([places.node, process.argv[1], ...args], { cwd });
  }
  process.chdir(cwd);
  module.enableCompileCache(path.join(places.program, 'cache'));
  await import(pathToFileURL(program).href);
  return process.exitCode;
}

async function setUpProgram(python) {
  const { setUp } = await import('./setup/set-up.mjs');
  await setUp({ develop: false, python });
  return builtProgram();
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const { SetupError } = await import('./setup/machine.mjs');
  if (!(error instanceof SetupError)) throw error;
  process.stderr.write(`\n${error.message}\n`);
  process.exitCode = 1;
}
