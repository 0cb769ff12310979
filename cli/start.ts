/** `npm start`: the region, the demo, and then whatever is dropped. Ends on Ctrl-C, or with `--once` after the first report. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LIMIT_PROFILES } from '@tidewheel/emulators/limits/profiles.ts';
import { apiClient } from '@tidewheel/emulators/region/api-client.ts';
import { startRegion } from '@tidewheel/emulators/region/region.ts';
import { readCommandLine, runCommand, usable } from '@tidewheel/emulators/shared/command-line.ts';
import { marketScriptOf } from '@tidewheel/emulators/spot-market/script-option.ts';
import * as z from 'zod';
import { DECLARED_LAUNCHERS, DEFAULT_LAUNCHER } from '../functions/core/pipeline/launchers.ts';
import { DEMO_PIPELINE } from './demo/demo.ts';
import { runDemo } from './demo/run-demo.ts';
import { openStores } from './serve/open-stores.ts';
import { serveDrops, watchService } from './serve/serve.ts';
import type { Session } from './serve/session.ts';
import { showPipelines, takeUpRuns } from './serve/take-up.ts';
import { watchDisk } from './show/disk-space.ts';
import { terminalScreen } from './show/screen.ts';
import { whereToLook } from './show/where-to-look.ts';

const HELP = `npm start -- [options]

  --once             end with the report of the demo's run; exit code 0 if it succeeded
  --no-demo          start empty: no demo data, only what you drop
  --launcher NAME    where the demo trains: ${DECLARED_LAUNCHERS.join(', ')} (default ${DEFAULT_LAUNCHER}; cheapest: placement weighs all)
  --market SCRIPT    demo (default: one interruption a run), demo:N, calm, seed:NUMBER, trace:FOLDER
  --grace SECONDS    what a host gets between SIGTERM and SIGKILL (default 30; SageMaker's is 120)
  --limits PROFILE   of an AWS account: ${LIMIT_PROFILES.join(', ')} (default none). A new account runs 10 functions at once and has
                     no instances with accelerators. Both others than none throttle S3, EC2 and SageMaker, and S3
                     answers after 0.1 s (emulators/limits/profiles.ts has every figure and its source)
  --state FOLDER     where everything is kept (default .tidewheel)
  --verbose          also what the local SageMaker, EC2 and the market say
  --help             this text
`;

const SECONDS = 'give seconds from 1 to 120';
const projectFolder = join(import.meta.dirname, '..');

const spec = {
  options: {
    once: { type: 'boolean', default: false },
    'no-demo': { type: 'boolean', default: false },
    launcher: { type: 'string', default: DEFAULT_LAUNCHER },
    market: { type: 'string', default: 'demo' },
    grace: { type: 'string', default: '30' },
    limits: { type: 'string', default: 'none' },
    state: { type: 'string', default: join(projectFolder, '.tidewheel') },
    verbose: { type: 'boolean', default: false },
  },
  schema: z.object({
    once: z.boolean(),
    'no-demo': z.boolean(),
    launcher: z.enum(DECLARED_LAUNCHERS, `write ${DECLARED_LAUNCHERS.join(', ')}`),
    market: z.string().transform((text, context) => {
      try {
        return marketScriptOf(text);
      } catch (error: unknown) {
        context.addIssue(error instanceof Error ? error.message : String(error));
        return z.NEVER;
      }
    }),
    grace: z.coerce.number(SECONDS).min(1, SECONDS).max(120, SECONDS),
    limits: z.enum(LIMIT_PROFILES, `write ${LIMIT_PROFILES.join(', ')}`),
    state: z.string(),
    verbose: z.boolean(),
  }),
} as const;

async function main(args: readonly string[]): Promise<number> {
  const { values: chosen } = readCommandLine(args, spec);
  await usable('--state', chosen.state, () => mkdir(chosen.state, { recursive: true }));
  const screen = terminalScreen(process.stdout);
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stopping.abort());
  // The set-up that started us is gone, perhaps by kill -9: nothing could stop us any more.
  process.on('disconnect', () => stopping.abort());
  const region = await startRegion({
    projectFolder,
    stateDirectory: chosen.state,
    pythonPath: process.env['TIDEWHEEL_PYTHON'] ?? join(projectFolder, '.venv/bin/python'),
    market: chosen.market,
    graceSeconds: chosen.grace,
    limits: chosen.limits,
    log: (line) => chosen.verbose && screen.line(`  ${line}`),
    notice: (line) => screen.line(`  ${line}`),
    onStep: (text) => screen.line(`  starting ${text}`),
  });
  void watchDisk(screen, chosen.state, stopping.signal);
  void region.emulatorExited.then(() => stopping.abort());
  try {
    const session: Session = {
      region,
      api: apiClient(region),
      ...openStores(region),
      screen,
      projectFolder,
      stateDirectory: chosen.state,
      launcher: chosen.launcher,
      signal: stopping.signal,
    };
    screen.done('the region is up');
    for (const line of whereToLook(region, chosen.state)) screen.line(line);
    return await serve(session, { demo: !chosen['no-demo'], once: chosen.once });
  } finally {
    stopping.abort();
    screen.line('  stopping: hosts save, state is kept for the next start');
    await region.close();
  }
}

async function serve(
  session: Session,
  { demo, once }: { readonly demo: boolean; readonly once: boolean },
): Promise<number> {
  const { screen } = session;
  if ((await showPipelines(session)) === 0 && !demo) screen.line('  no pipeline is declared yet');
  const watch = await watchService(session, demo ? DEMO_PIPELINE : undefined);
  await takeUpRuns(session);
  if (demo) {
    const report = await runDemo(session);
    if (once) return report?.status === 'succeeded' ? 0 : 1;
    watch.showAll();
  }
  await serveDrops(session, watch);
  return 0;
}

await runCommand(HELP, main);
