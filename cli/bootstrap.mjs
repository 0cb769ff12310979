/**
 * `npm start`, `npm test`, `npm run check`, `npm run setup`: each first does the set-up it needs, then its work.
 * Plain JavaScript for Node 20 and newer; what follows the set-up runs on the Node 24 that it installed.
 */
import path from 'node:path';
import { SetupError } from './setup/fail.mjs';
import { places } from './setup/places.mjs';

const USAGE = `usage: node cli/bootstrap.mjs COMMAND

  start [OPTIONS]       set up, then run Tidewheel on this machine (start --help)
  test [PART...] [--with-check]
                        set up, then run all tests, or those parts: unit contract python integration e2e
  check                 set up, then check format, lint and types
  format                put in order what a program can
  setup [--develop]     set up only; --develop adds what tests and checks need
  run TOOL [OPTIONS]    set up what the tool needs, then run it (run TOOL --help): sim, explain, dataset, ...
`;

/** npm goes to the project's folder; what a person names is meant from where they are. */
const CALLED_FROM = process.env.INIT_CWD ?? process.cwd();

const COMMANDS = { start, test, check, format, setup: onlySetUp, run };

/** The programs behind `npm run NAME`, and whether they need Python and PyTorch beside the npm packages. */
const TOOLS = {
  'bench:packing': { script: 'bench/packing/compare.ts', python: true },
  'bench:placement': { script: 'bench/placement/decided.ts', python: false },
  campaign: { script: 'bench/campaign/main.ts', python: true },
  compose: { script: 'serverless/compose.ts', python: false },
  dataset: { script: 'cli/dataset.ts', python: false },
  explain: { script: 'cli/explain.ts', python: false },
  'images:refresh': { script: 'cli/images/refresh-cli.ts', python: false },
  'pack-agent': { script: 'cli/pack-agent.ts', python: false },
  'measure:helpers': { script: 'bench/helpers/main.ts', python: true, develop: true },
  // Its light recipes run in the tests' environment: MPI is a package there.
  recipes: { script: 'cli/recipes/cli.ts', python: true, develop: true },
  schema: { script: 'cli/write-schema.ts', python: false },
  sim: { script: 'bench/sim/main.ts', python: false },
  'test:clients': { script: 'test/clients/main.ts', python: true },
  'test:interruptions': { script: 'test/interruptions/main.ts', python: true },
  'verify-dataset': { script: 'cli/verify-dataset.ts', python: false },
};

async function main([name = '', ...args]) {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command || (!['start', 'run'].includes(name) && args.includes('--help'))) {
    process.stdout.write(USAGE);
    return command || name === '--help' ? 0 : 2;
  }
  process.chdir(places.root);
  return await command(args);
}

// Imported late: an old Node must get the message about itself, not a stack trace from a module it cannot load.
const prepare = async (options) => (await import('./setup/set-up.mjs')).setUp(options);

/** Listening to 'disconnect' would keep the child alive for ever; this lets it end when its work is done. */
const LET_CHANNEL_GO = '--import=data:text/javascript,process.channel?.unref()';

/** What prints help needs the npm packages, and no Python. */
const asksForHelp = (args) => args.includes('--help') || args.includes('-h');

async function start(args) {
  await prepare({ develop: false, python: !asksForHelp(args) });
  const { runInForeground } = await import('./setup/program.mjs');
  const script = path.join(places.root, 'cli', 'start.ts');
  return runInForeground([places.node, LET_CHANNEL_GO, script, ...args], { ipc: true });
}

async function test(args) {
  const { closingLine, PARTS, runTests } = await import('./setup/tests.mjs');
  const parts = args.filter((arg) => arg !== '--with-check');
  const unknown = parts.filter((part) => !PARTS.includes(part));
  if (unknown.length > 0)
    throw new SetupError(`unknown: ${unknown.join(', ')}; the parts are ${PARTS.join(', ')}`);
  await prepare({ develop: true });
  const checks = args.includes('--with-check')
    ? await (await import('./setup/checks.mjs')).runChecks()
    : undefined;
  const counts = await runTests(parts.length > 0 ? parts : PARTS);
  counts.passed += checks?.passed ?? 0;
  counts.failed += checks?.failed ?? 0;
  process.stdout.write(`\n${closingLine(counts)}\n`);
  return counts.failed > 0 || counts.passed === 0 ? 1 : 0;
}

async function check() {
  await prepare({ develop: true });
  const { failed } = await (await import('./setup/checks.mjs')).runChecks();
  return failed > 0 ? 1 : 0;
}

async function format() {
  await prepare({ develop: true });
  return (await import('./setup/checks.mjs')).formatAll();
}

async function run([name = '', ...args]) {
  const tool = Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined;
  if (!tool)
    throw new SetupError(`there is no tool "${name}"; the tools are ${Object.keys(TOOLS).join(', ')}`);
  await prepare({ develop: tool.develop ?? false, python: tool.python && !asksForHelp(args) });
  const { runInForeground } = await import('./setup/program.mjs');
  return runInForeground([places.node, path.join(places.root, tool.script), ...args], { cwd: CALLED_FROM });
}

async function onlySetUp(args) {
  await prepare({ develop: args.includes('--develop') });
  process.stderr.write('Everything is in place: npm start\n');
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  process.stderr.write(`\n${error.message}\n`);
  process.exitCode = 1;
}
