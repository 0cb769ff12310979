/** `npm start`: the region, the demo, and then whatever is dropped. Ends on Ctrl-C, or with `--once` after the first report. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runDemo } from './demo/run-demo.ts';
import { serveDrops } from './demo/serve-drops.ts';
import { marketScriptOf } from './market/script-option.ts';
import { type ApiClient, apiClient } from './region/api-client.ts';
import { type Region, startRegion } from './region/region.ts';
import { type Screen, terminalScreen } from './show/screen.ts';
import { whereToLook } from './show/where-to-look.ts';

const HELP = `npm start -- [options]

  --once             end with the report of the demo's run; exit code 0 if it succeeded
  --no-demo          start empty: no demo data, only what you drop
  --market SCRIPT    demo (default: one interruption a run), demo:N, calm, seed:NUMBER, trace:FOLDER
  --grace SECONDS    what a host gets between SIGTERM and SIGKILL (default 30; SageMaker's is 120)
  --state FOLDER     where everything is kept (default .tidewheel)
  --verbose          also what the local SageMaker and the market say
  --help             this text
`;

const projectFolder = join(import.meta.dirname, '..');

export interface Session {
  readonly region: Region;
  readonly api: ApiClient;
  readonly screen: Screen;
  readonly projectFolder: string;
  readonly stateDirectory: string;
  readonly signal: AbortSignal;
}

function options() {
  const { values } = parseArgs({
    options: {
      once: { type: 'boolean', default: false },
      'no-demo': { type: 'boolean', default: false },
      market: { type: 'string', default: 'demo' },
      grace: { type: 'string', default: '30' },
      state: { type: 'string', default: join(projectFolder, '.tidewheel') },
      verbose: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const graceSeconds = Number(values.grace);
  if (!(graceSeconds >= 1 && graceSeconds <= 120)) {
    throw new RangeError(`--grace is "${values.grace}", give seconds from 1 to 120`);
  }
  return { ...values, graceSeconds, script: marketScriptOf(values.market) };
}

async function main(): Promise<number> {
  const screen = terminalScreen(process.stdout);
  const chosen = options();
  if (chosen.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stopping.abort());
  // The set-up that started us is gone, perhaps by kill -9: nobody could stop us any more.
  process.on('disconnect', () => stopping.abort());
  const region = await startRegion({
    projectFolder,
    stateDirectory: chosen.state,
    pythonPath: process.env['TIDEWHEEL_PYTHON'] ?? join(projectFolder, '.venv/bin/python'),
    market: chosen.script,
    graceSeconds: chosen.graceSeconds,
    log: (line) => chosen.verbose && screen.line(`  ${line}`),
    onStep: (text) => screen.line(`  starting ${text}`),
  });
  void region.emulatorExited.then(() => stopping.abort());
  try {
    const session: Session = {
      region,
      api: apiClient(region.endpoints, region.stack),
      screen,
      projectFolder,
      stateDirectory: chosen.state,
      signal: stopping.signal,
    };
    screen.done('the region is up');
    for (const line of whereToLook(region, chosen.state)) screen.line(line);
    if (!chosen['no-demo']) {
      const report = await runDemo(session);
      if (chosen.once) return report?.status === 'succeeded' ? 0 : 1;
    }
    await serveDrops(session);
    return 0;
  } finally {
    screen.line('  stopping: hosts save, state is kept for the next start');
    await region.close();
  }
}

try {
  process.exitCode = await main();
} catch (error: unknown) {
  terminalScreen(process.stderr).problem(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
