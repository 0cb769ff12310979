/**
 * `npm start`, `npm test`, `npm run check`, `npm run setup`: each first does the set-up it needs, then its work.
 * It runs on Node 20 and newer, and Node 14 still reads it, to get the message about itself. The programs that follow
 * the set-up run on the Node 24 that it installed.
 */
import path from 'node:path';
import { changedSince, reachOf } from './setup/changed.mjs';
import { formatAll, runChecks } from './setup/checks.mjs';
import { SetupError } from './setup/machine.mjs';
import { places } from './setup/places.mjs';
import { runInForeground } from './setup/program.mjs';
import { setUp } from './setup/set-up.mjs';
import { startRegion } from './setup/start-region.mjs';
import { closingLine, HEAVY, PARTS, runTests } from './setup/tests.mjs';

const USAGE = `usage: node cli/bootstrap.mjs COMMAND

  start [OPTIONS]       set up, then run Tidewheel on this machine (start --help)
  test [PART...] [--with-check] [--changed[=COMMIT]] [--again]
                        set up, then run all tests, or those parts: unit contract integration e2e python;
                        --changed: what the changes since COMMIT (HEAD) can reach; the part heavy runs only if named,
                        with --again only what has not passed
  check                 set up, then check format, lint and types
  format                put in order what a program can
  setup [--develop]     set up only; --develop adds what tests and checks need
  run [--python|--develop] SCRIPT [OPTIONS]
                        set up npm packages, and what npm start or the tests need in Python, then run the script
`;

/** npm changes to the project's folder. The paths that a person gives are relative to this one. */
const CALLED_FROM = process.env.INIT_CWD || process.cwd();

/** A program that prints its help needs the npm packages, and no Python. */
const asksForHelp = (args) => args.includes('--help') || args.includes('-h');

const COMMANDS = {
  start: startRegion,

  async test(args) {
    const changed = args.find((arg) => /^--changed(=|$)/.test(arg));
    const named = args.filter((arg) => !['--with-check', '--again', changed].includes(arg));
    const known = [...PARTS, HEAVY];
    const unknown = named.filter((part) => !known.includes(part));
    if (unknown.length > 0)
      throw new SetupError(`unknown: ${unknown.join(', ')}; the parts are ${known.join(', ')}`);
    const commit = changed?.slice('--changed='.length) || 'HEAD';
    const reach = changed && reachOf(changedSince(commit));
    const asked = named.length > 0 ? named : PARTS;
    const parts = asked.filter((part) => reach?.has(part) ?? true);
    if (parts.length === 0) {
      process.stdout.write(`no change since ${commit} reaches a test of ${asked.join(', ')}\n`);
      return 0;
    }
    await setUp({ develop: true });
    const checks = args.includes('--with-check') ? await runChecks() : { passed: 0, failed: 0 };
    const counts = await runTests(parts, { limits: reach, again: args.includes('--again') });
    counts.passed += checks.passed;
    counts.failed += checks.failed;
    process.stdout.write(`\n${closingLine(counts)}\n`);
    return counts.failed > 0 || counts.passed === 0 ? 1 : 0;
  },

  async check() {
    await setUp({ develop: true });
    const { failed } = await runChecks();
    return failed > 0 ? 1 : 0;
  },

  async format() {
    await setUp({ develop: true });
    return formatAll();
  },

  async setup(args) {
    await setUp({ develop: args.includes('--develop') });
    process.stderr.write('Everything is in place: npm start\n');
    return 0;
  },

  async run(args) {
    const needs = ['--python', '--develop'].includes(args[0]) ? args[0] : undefined;
    const [script, ...rest] = needs ? args.slice(1) : args;
    if (!script) throw new SetupError('run needs a script; "npm run" lists those of this project');
    await setUp({ develop: needs === '--develop', python: needs !== undefined && !asksForHelp(rest) });
    return runInForeground([places.node, path.join(places.root, script), ...rest], { cwd: CALLED_FROM });
  },
};

async function main([name, ...args]) {
  const command = new Map(Object.entries(COMMANDS)).get(name);
  if (!command || (!['start', 'run'].includes(name) && args.includes('--help'))) {
    process.stdout.write(USAGE);
    return command || name === '--help' ? 0 : 2;
  }
  process.chdir(places.root);
  return command(args);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  process.stderr.write(`\n${error.message}\n`);
  process.exitCode = 1;
}
