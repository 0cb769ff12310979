/** npm run bench:page: size, first paint, delay of events, frames, accessibility and requests of the page, in a real Chromium. */
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import type { Browser, Page } from 'playwright-core';
import * as z from 'zod';
import { buildPage } from '../../cli/page/page-files.ts';
import { servePage } from '../../cli/page/page-server.ts';
import { startBrowser } from '../../test/support/browser.ts';
import { TEST_KEY } from '../../test/support/emulator.ts';
import { startApi } from '../../test/support/world/api-server.ts';
import type { Ground } from '../../test/support/world/ground.ts';
import { dayUsd, HOURS_A_DAY, PEOPLE, type Watched } from './costs.ts';
import * as measure from './measures.ts';
import { takePicture, takeScreenshots } from './screenshots.ts';
import { ENDED_RUN, LONG_RUN, makeWorld, OPEN_RUN, POINTS, RUNS, save } from './world.ts';

const USAGE = `npm run bench:page

Serves the page over a region in memory with ${RUNS} runs, one of them with ${POINTS} points, and measures it in a real
Chromium: compressed bytes of the first screen and the most that a further one adds, first contentful paint with a CPU slowed
${measure.CPU_THROTTLE} times, seconds until an event is seen, the longest frame while a reader scrolls and zooms, violations of accessibility on every screen in light and dark, requests
to other origins, and what watching costs. Takes about two minutes.

  --screenshots FOLDER  writes pictures of the screens instead, as WebP (docs/images/page)
  --chaos ADDRESS#RUN   with it: only chaos.webp, of a run on the page that npm start serves there
  --help
`;

const schema = z.object({ screenshots: z.string().optional(), chaos: z.url().optional() });

const SCREENS = [
  '#/',
  '#/runs?find=val_accuracy%20%3E%200.9',
  '#/pipelines/digits',
  '#/models',
  '#/pipelines/digits/models',
  '#/pipelines/digits/data',
  '#/pipelines/digits/probes',
  `#/runs/${OPEN_RUN}`,
  `#/runs/${ENDED_RUN}`,
  `#/runs/${OPEN_RUN}/log`,
  `#/runs/${OPEN_RUN}/why`,
  `#/runs/${OPEN_RUN}/declaration`,
  `#/runs/${LONG_RUN}?x=dollars`,
  '#/market',
  '#/market?show=price',
  '#/market?show=luck',
  '#/money',
  '#/compare',
  `#/compare?runs=${OPEN_RUN},${LONG_RUN}`,
];
const AIMS = {
  firstScreenBytes: 60_000,
  furtherScreenBytes: 25_000,
  firstPaintMilliseconds: 300,
  eventSeconds: 2,
  longestFrameMilliseconds: 50,
  axeViolations: 0,
  foreignRequests: 0,
  tenPeopleDayUsd: 0.1,
  hiddenCalls: 0,
} as const;
type Figure = keyof typeof AIMS;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

interface Bench {
  readonly browser: Browser;
  readonly served: measure.Served;
  readonly at: Ground;
}

async function measured(bench: Bench): Promise<Record<Figure, number>> {
  const { browser, served } = bench;
  const foreign: string[] = [];
  browser.on('context', (context) =>
    context.on('request', (request) => {
      const { origin, protocol } = new URL(request.url());
      if (protocol.startsWith('http') && origin !== served.origin) foreign.push(request.url());
    }),
  );
  const violations = await measure.axeViolations(browser, served, SCREENS);
  for (const each of violations) say(`✗ ${each}`);
  const watched = await watching(bench);
  const figures = {
    ...(await measure.screenBytes(browser, served, SCREENS)),
    firstPaintMilliseconds: await measure.firstPaint(browser, served, 7),
    eventSeconds: watched.eventSeconds,
    longestFrameMilliseconds: await frames(bench),
    axeViolations: violations.length,
    tenPeopleDayUsd: dayUsd(watched.shown),
    hiddenCalls: watched.hidden.calls,
  };
  return { ...figures, foreignRequests: foreign.length };
}

const WATCHED_SECONDS = 60;
const SAVE_SECONDS = 20;

async function watching({ browser, served, at }: Bench) {
  const { context, page } = await measure.open(browser, served);
  await measure.show(page, served, `#/runs/${OPEN_RUN}`);
  const eventSeconds = await measure.eventSeconds(page, (text) => happen(at, text), 5);
  // As after two minutes without a touch or news.
  await page.evaluate(IDLE);
  await page.waitForTimeout(6_000);
  // A run that trains changes all the time.
  let step = 700;
  const saves = setInterval(() => save(at, (step += 1)), SAVE_SECONDS * 1_000);
  const shown = await countCalls(page, WATCHED_SECONDS);
  clearInterval(saves);
  // Another tab in front: a page that is not seen reads nothing.
  await page.evaluate(HIDE);
  await page.waitForTimeout(3_000);
  const hidden = await countCalls(page, 10);
  await context.close();
  return { eventSeconds, shown, hidden };
}

const IDLE = 'const now = Date.now; Date.now = () => now() + 180_000';

const HIDE = `
  Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' });
  document.dispatchEvent(new Event('visibilitychange'));
`;

const happen = (at: Ground, text: string): Promise<void> => {
  const now = new Date().toISOString();
  return at.timeline.add(OPEN_RUN, { id: text, at: now, kind: 'note', text });
};

async function countCalls(page: Page, seconds: number): Promise<Watched> {
  let [calls, bytes] = [0, 0];
  const count = async (response: import('playwright-core').Response): Promise<void> => {
    if (!response.url().includes('/api/')) return;
    calls += 1;
    bytes += Number(response.headers()['content-length'] ?? 0) || (await response.body()).length;
  };
  const listener = (response: import('playwright-core').Response): void =>
    void count(response).catch(() => undefined);
  page.on('response', listener);
  await page.waitForTimeout(seconds * 1_000);
  page.off('response', listener);
  return { calls, bytes, seconds };
}

const WHEELS = 60;

/** The list of runs to its end and back, then the long run zoomed and moved. */
async function frames({ browser, served }: Bench): Promise<number> {
  const { context, page } = await measure.open(browser, served);
  await measure.show(page, served, '#/pipelines/digits');
  await page.mouse.move(640, 500);
  const scrolled = await measure.longestFrame(page, async () => {
    for (let wheel = 0; wheel < WHEELS; wheel += 1) {
      await page.mouse.wheel(0, wheel < WHEELS / 2 ? 6_000 : -6_000);
      await page.waitForTimeout(50);
    }
  });
  await measure.show(page, served, `#/runs/${LONG_RUN}`);
  await page.getByRole('button', { name: 'closer' }).click();
  await page.waitForLoadState('networkidle');
  const zoomed = await measure.longestFrame(page, async () => {
    for (const name of ['closer', 'closer', 'later', 'earlier', 'earlier', 'whole run', 'closer', 'later']) {
      await page.getByRole('button', { name, exact: true }).dispatchEvent('click');
      await page.waitForTimeout(120);
    }
    await page.mouse.move(640, 500);
    for (let wheel = 0; wheel < 30; wheel += 1) {
      await page.mouse.wheel(0, wheel < 15 ? 200 : -200);
      await page.waitForTimeout(40);
    }
  });
  const text = ({ work, wall }: measure.Frames): string =>
    `${work.toFixed(0)} ms of CPU (${wall.toFixed(0)} ms)`;
  say(`  longest frame: ${text(scrolled)} scrolling ${RUNS} runs, ${text(zoomed)} zooming ${POINTS} points`);
  await context.close();
  return Math.max(scrolled.work, zoomed.work);
}

function report(figures: Readonly<Record<Figure, number>>): boolean {
  const names = Object.keys(AIMS).filter((name): name is Figure => name in AIMS);
  const missed = names.filter((name) => !(figures[name] <= AIMS[name]));
  for (const name of names) {
    const value = figures[name];
    const text = Number.isInteger(value) ? String(value) : value.toFixed(3);
    say(
      `${missed.includes(name) ? '✗' : '✓'} ${name.padEnd(26)} ${text.padStart(9)}   aim: at most ${AIMS[name]}`,
    );
  }
  say(`  (tenPeopleDayUsd: ${PEOPLE} people, ${HOURS_A_DAY} hours, at the prices in bench/page/costs.ts)`);
  return missed.length === 0;
}

async function chaosPicture(folder: string, { origin, href, hash }: URL): Promise<number> {
  const chromium = await startBrowser();
  const picture = { name: 'chaos', screen: `#/runs/${hash.slice(1)}?x=time`, height: 1_050 };
  try {
    await takePicture(chromium.browser, { origin, address: href.slice(0, -hash.length) }, folder, picture);
    return 0;
  } finally {
    await chromium.stop();
  }
}

await runCommand(USAGE, async (args) => {
  const { screenshots, chaos } = readCommandLine(args, { schema }).values;
  if (screenshots !== undefined && chaos !== undefined) return chaosPicture(screenshots, new URL(chaos));
  const at = await makeWorld();
  const api = await startApi(at, 'arn:aws:iam::123456789012:user/reader');
  const files = await buildPage();
  const page = await servePage({
    files,
    apiUrl: api.url,
    region: 'us-east-1',
    credentials: TEST_KEY,
  });
  const chromium = await startBrowser();
  try {
    const served = { origin: new URL(page.address).origin, address: page.address };
    if (screenshots !== undefined) {
      await takeScreenshots(chromium.browser, served, screenshots);
      return 0;
    }
    const figures = await measured({ browser: chromium.browser, served, at });
    return report(figures) ? 0 : 1;
  } finally {
    await chromium.stop();
    page.close();
    api.stop();
  }
});
