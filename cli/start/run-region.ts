/** From the start of a region to its end: the demo, and then whatever is dropped. */
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { heldUpLines, refusedSoFar } from '@tidewheel/emulators/limits/profiles.ts';
import { apiClient } from '@tidewheel/emulators/region/api-client.ts';
import { REGION } from '@tidewheel/emulators/region/clients.ts';
import { type Region, startRegion } from '@tidewheel/emulators/region/region.ts';
import { attemptOf, runOf } from '@tidewheel/emulators/spot-market/model/run-name.ts';
import type { MarketScript } from '@tidewheel/emulators/spot-market/spot-market.ts';
import { printable } from '@tidewheel/kit/command-line.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import pc from 'picocolors';
import { dynamoStores } from '../../functions/aws/dynamodb/stores.ts';
import { openObjectStore } from '../../functions/aws/s3/open-store.ts';
import { documentClient } from '../../functions/aws/shared/clients.ts';
import { type ChaosOptions, runChaos } from '../chaos/run-chaos.ts';
import { placeOfState } from '../command/typed.ts';
import { DEMO_PIPELINE } from '../demo/demo.ts';
import { runDemo } from '../demo/run-demo.ts';
import { buildPage } from '../page/page-files.ts';
import { type ServedPage, servePage } from '../page/page-server.ts';
import { watchDropFolder } from '../serve/drop-folder.ts';
import type { NewsLine } from '../serve/news.ts';
import { resumeRuns, showPipelines } from '../serve/resume-runs.ts';
import type { Session } from '../serve/session.ts';
import { watchUnclaimedFiles } from '../serve/unclaimed-files.ts';
import { watchRuns } from '../serve/watch-runs.ts';
import { watchDisk } from '../show/disk-space.ts';
import { type Screen, terminalScreen } from '../show/screen.ts';
import { nextSteps, regionDocument, whereToLook } from '../show/where-to-look.ts';
import { outputOf, projectFolder, type StartOptions } from './ready.ts';

/** @returns the exit code */
export async function runRegion(chosen: StartOptions): Promise<number> {
  const screen = terminalScreen(outputOf(chosen));
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stopping.abort());
  // The set-up that started us is gone, perhaps by kill -9: nothing could stop us any more.
  process.on('disconnect', () => stopping.abort());
  const reclaims = ownReclaims(chosen.market);
  let region;
  try {
    region = await openRegion(chosen, { screen, reclaims, signal: stopping.signal });
  } catch (error: unknown) {
    // What it was doing then ended badly because we asked for it.
    if (!stopping.signal.aborted) throw error;
    screen.line('  stopped before the region was up: the next start goes on from here');
    return 1;
  }
  return serveRegion(region, chosen, { screen, reclaims, stopping });
}

const openRegion = (
  chosen: StartOptions,
  { screen, reclaims, signal }: Serving & { readonly signal: AbortSignal },
): Promise<Region> =>
  startRegion({
    projectFolder,
    stateDirectory: chosen.state,
    pythonPath: process.env['TIDEWHEEL_PYTHON'] ?? join(projectFolder, '.venv/bin/python'),
    market: chosen.chaos ? { kind: 'calm' } : chosen.market,
    graceSeconds: chosen.grace,
    limits: chosen.limits,
    log: (line) => chosen.verbose && screen.line(`  ${line}`),
    notice: (line) => screen.line(`  ${line}`),
    onReclaim: reclaims.add,
    onStep: (text) => screen.line(`  starting ${text}`),
    signal,
  });

interface Serving {
  readonly screen: Screen;
  readonly reclaims: OwnReclaims;
}

async function serveRegion(
  region: Region,
  chosen: StartOptions,
  { screen, reclaims, stopping }: Serving & { readonly stopping: AbortController },
): Promise<number> {
  void watchDisk(screen, chosen.state, stopping.signal);
  let isLost = false;
  let page: ServedPage | undefined;
  void region.emulatorExited.then(() => {
    if (stopping.signal.aborted) return;
    isLost = true;
    screen.line('✗ the emulator has ended by itself (logs/emulator.log may say why): start again to go on');
    stopping.abort();
  });
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
    reclaims.follow(session);
    page = await openPage(region, chosen.state, screen);
    screen.done('the region is up');
    for (const line of whereToLook(region, { ...chosen, pageAddress: page?.address })) screen.line(line);
    if (chosen.json)
      process.stdout.write(`${JSON.stringify(regionDocument(region, chosen.state, page?.address))}\n`);
    const code = await serve(session, chosen);
    return isLost ? 1 : code;
  } catch (error: unknown) {
    // Requests to the emulator failed with it.
    if (!isLost) throw error;
    return 1;
  } finally {
    stopping.abort();
    page?.close();
    screen.line(`  stopping: hosts save (${chosen.grace} s at most), state is kept for the next start`);
    await region.close();
  }
}

/** The same port from start to start, so that an open page goes on after a reload, unless it is taken. */
const PAGE_PORT = 4580;

/** Without it the region serves all else. */
async function openPage(
  { stack, credentials }: Pick<Region, 'stack' | 'credentials'>,
  state: string,
  screen: Screen,
): Promise<ServedPage | undefined> {
  try {
    const files = await buildPage();
    const place = placeOfState(state);
    const deps = { files, apiUrl: stack.apiUrl, region: REGION, credentials, place };
    return await servePage(deps, PAGE_PORT).catch(() => servePage(deps));
  } catch (error: unknown) {
    screen.problem(`the page is not served: ${messageOf(error)}`);
    return undefined;
  }
}

async function serve(session: Session, chosen: StartOptions): Promise<number> {
  const { chaos, once } = chosen;
  const demo = !chosen['no-demo'] && !chaos;
  const { screen } = session;
  if ((await showPipelines(session)) === 0 && !demo) screen.line('  no pipeline is declared yet');
  const watch = await watchService(session, demo ? DEMO_PIPELINE : undefined);
  await resumeRuns(session);
  if (chaos || demo) {
    const isGood = chaos ? await runChaos(session, chaosOptions(chosen)) : await isDemoGood(session, chosen);
    if (once) return isGood ? 0 : 1;
    if (session.signal.aborted) return 0;
    watch.showAll();
  }
  await serveDrops(session, watch);
  return 0;
}

const chaosOptions = (chosen: StartOptions): ChaosOptions => ({
  everySeconds: chosen['chaos-every'],
  seconds: chosen['chaos-seconds'],
  seed: chosen['chaos-seed'],
});

async function isDemoGood(session: Session, { limits }: StartOptions): Promise<boolean> {
  const report = await runDemo(session);
  if (limits !== 'none' && !session.signal.aborted) await showHeldUp(session, limits);
  return report?.status === 'succeeded';
}

async function showHeldUp(
  { region, screen }: Pick<Session, 'region' | 'screen'>,
  limits: StartOptions['limits'],
): Promise<void> {
  try {
    const lines = heldUpLines(limits, await refusedSoFar(region.endpoints.aws));
    screen.line();
    for (const line of lines) screen.line(`  ${line}`);
  } catch (error: unknown) {
    screen.problem(`what the limits held up is not known: ${messageOf(error)}`);
  }
}

/** The table and the bucket of a local region. */
function openStores({ credentials, endpoints, stack }: Region): Pick<Session, 'stores' | 'store'> {
  const place = { region: REGION, endpoint: endpoints.aws };
  const dynamo = new DynamoDBClient({ ...place, credentials });
  return {
    stores: dynamoStores(documentClient(dynamo), stack.table),
    store: openObjectStore({
      ...place,
      bucket: stack.bucket,
      credentials: () => Promise.resolve(credentials),
    }),
  };
}

// Serves until the session ends: every run of every pipeline, every file of the drop folder and every unclaimed file is on the screen.

interface Watch {
  /** Shows the runs of this pipeline too; they were followed in full elsewhere. */
  showAll(): void;
  readonly ended: Promise<unknown>;
}

/** @param elsewhere a pipeline whose runs something else shows */
async function watchService(session: Session, elsewhere: string | undefined): Promise<Watch> {
  let hidden = elsewhere;
  const runs = await watchRuns(session, (line) => line.pipeline !== hidden && show(session.screen, line));
  return {
    showAll: () => {
      hidden = undefined;
    },
    ended: Promise.all([runs.ended, watchUnclaimedFiles(session)]),
  };
}

function show(screen: Screen, { kind, text }: NewsLine): void {
  const time = pc.dim(new Date().toISOString().slice(11, 19));
  screen.line(`${time} ${kind === 'problem' ? pc.red(printable(text)) : printable(text)}`);
}

async function serveDrops(session: Session, watch: Watch): Promise<void> {
  const { screen } = session;
  const folder = await watchDropFolder(session);
  screen.line();
  screen.done('ready for a drop (Ctrl-C ends)');
  for (const line of nextSteps(session.region, session.stateDirectory)) screen.line(line);
  await watch.ended;
  await folder.close();
}

// Says on a run's timeline that this machine's market took its capacity: no cloud did, and no person asked for it.

interface OwnReclaims {
  /** @param job of which the market's script took the capacity */
  readonly add: (job: string) => void;
  /** Writes the entries, earlier ones too. */
  readonly follow: (session: Pick<Session, 'stores' | 'screen'>) => void;
}

export function ownReclaims({ kind }: MarketScript, now = () => new Date()): OwnReclaims {
  const waiting: (() => void)[] = [];
  let session: Pick<Session, 'stores' | 'screen'> | undefined;
  const why = kind === 'demo' ? 'as it does once with each run (--market calm: never)' : 'by its script';
  const write = (runId: string, attempt: number, at: string): void => {
    session?.stores.timeline
      .add(runId, {
        id: `local-market-${attempt}`,
        at,
        kind: 'LocalMarketReclaimed',
        text: `attempt ${attempt}: this machine's market takes its Spot capacity, ${why}`,
      })
      .catch((error: unknown) => session?.screen.problem(`${runId}: ${messageOf(error)}`));
  };
  return {
    add: (job) => {
      const attempt = attemptOf(job);
      if (attempt === undefined) return;
      const at = now().toISOString();
      if (session === undefined) waiting.push(() => write(runOf(job), attempt, at));
      else write(runOf(job), attempt, at);
    },
    follow: (begun) => {
      session = begun;
      for (const each of waiting.splice(0)) each();
    },
  };
}
