/** What is measured of the page in a real Chromium, one function a figure. */
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, Page } from 'playwright-core';

/** How much slower than this machine: a laptop of an ordinary reader. */
export const CPU_THROTTLE = 4;

const VIEWPORT = { width: 1280, height: 800 };

export interface Served {
  readonly origin: string;
  /** With the token. */
  readonly address: string;
}

/** A browser that has been let in, and nothing in its cache. */
export async function open(
  browser: Browser,
  { address }: Served,
  over: Readonly<Record<string, unknown>> = {},
) {
  const context = await browser.newContext({ viewport: VIEWPORT, ...over });
  const [name = '', token = ''] = cookieOf(await fetch(address, { redirect: 'manual' }));
  await context.addCookies([{ name, value: token, url: address }]);
  return { context, page: await context.newPage() };
}

function cookieOf(answer: Response): string[] {
  return (answer.headers.get('set-cookie')?.split(';')[0] ?? '').split('=');
}

/** Bytes over the wire of the page's files, as CDP counts them, headers included: of Now, and the most that one of the others adds. */
export async function screenBytes(
  browser: Browser,
  served: Served,
  screens: readonly string[],
): Promise<{ readonly firstScreenBytes: number; readonly furtherScreenBytes: number }> {
  const added: number[] = [];
  for (const screen of screens) {
    const { context, page } = await open(browser, served);
    const cdp = await context.newCDPSession(page);
    await cdp.send('Network.enable');
    let bytes = 0;
    const files = new Set<string>();
    cdp.on('Network.requestWillBeSent', ({ requestId, request }) => {
      if (!new URL(request.url).pathname.startsWith('/api/')) files.add(requestId);
    });
    cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      if (files.has(requestId)) bytes += encodedDataLength;
    });
    await show(page, served, '#/');
    const first = bytes;
    await page.evaluate(`location.hash = ${JSON.stringify(screen)}`);
    await page.waitForTimeout(500);
    await page.waitForLoadState('networkidle');
    added.push(screen === '#/' ? first : bytes - first);
    await context.close();
  }
  const [firstScreenBytes = Number.NaN, ...further] = added;
  return { firstScreenBytes, furtherScreenBytes: Math.max(...further) };
}

/** Milliseconds to the first contentful paint, without a cache and with a slowed CPU: the median of several. */
export async function firstPaint(browser: Browser, served: Served, times: number): Promise<number> {
  const all: number[] = [];
  for (let time = 0; time < times; time += 1) {
    const { context, page } = await open(browser, served);
    const cdp = await context.newCDPSession(page);
    await cdp.send('Emulation.setCPUThrottlingRate', { rate: CPU_THROTTLE });
    await page.goto(`${served.origin}/`);
    await page.locator('h1').waitFor();
    all.push(
      Number(await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")),
    );
    await context.close();
  }
  return all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;
}

/** Longest wait, in seconds, from an event until a reader of the run sees it. */
export async function eventSeconds(
  page: Page,
  happen: (text: string) => Promise<void>,
  times: number,
): Promise<number> {
  let longest = 0;
  for (let time = 0; time < times; time += 1) {
    const text = `event ${time} of the measurement`;
    // Between two readings at another moment each time.
    await page.waitForTimeout(400 + time * 370);
    const at = performance.now();
    await happen(text);
    await page.getByText(text).waitFor({ state: 'visible' });
    longest = Math.max(longest, (performance.now() - at) / 1_000);
  }
  return longest;
}

/** Between two frames: the longest work of the page's main thread, and the longest time, both in milliseconds. */
export interface Frames {
  /** CPU time, which other programs of the machine do not lengthen. */
  readonly work: number;
  readonly wall: number;
}

interface TraceEvent {
  readonly name: string;
  readonly ts: number;
  readonly tid: number;
  readonly pid: number;
  /** CPU time in microseconds. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** Of all frames while `act` goes on, as Chromium traces them. */
export async function longestFrame(page: Page, act: () => Promise<void>): Promise<Frames> {
  const cdp = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  cdp.on('Tracing.dataCollected', ({ value }) => {
    for (const event of value) if (isTraceEvent(event)) events.push(event);
  });
  await page.evaluate(WATCH_FRAMES);
  await cdp.send('Tracing.start', {
    traceConfig: { includedCategories: ['toplevel', 'devtools.timeline', '__metadata'] },
    transferMode: 'ReportEvents',
  });
  await act();
  const wall = Number(await page.evaluate('cancelAnimationFrame(window.frame_), window.longestFrame'));
  const isComplete = new Promise((resolve) => cdp.once('Tracing.tracingComplete', resolve));
  await cdp.send('Tracing.end');
  await isComplete;
  return { work: longestWork(events), wall };
}

const isTraceEvent = (value: object): value is TraceEvent =>
  'name' in value && 'ts' in value && 'tid' in value;

const WATCH_FRAMES = `
  window.longestFrame = 0;
  let before;
  const frame = (now) => {
    window.longestFrame = Math.max(window.longestFrame, now - (before ?? now));
    before = now;
    window.frame_ = requestAnimationFrame(frame);
  };
  window.frame_ = requestAnimationFrame(frame);
`;

/** The page asks for every frame, so each one has a FireAnimationFrame; the tasks between two of them are a frame's work. */
function longestWork(events: readonly TraceEvent[]): number {
  const frames = events.filter(({ name }) => name === 'FireAnimationFrame');
  const main = frames[0];
  if (main === undefined) throw new Error('the trace has no frame');
  const own = events
    .filter(
      ({ pid, tid, name }) =>
        pid === main.pid && tid === main.tid && (name.endsWith('RunTask') || name === 'FireAnimationFrame'),
    )
    .toSorted((a, b) => a.ts - b.ts);
  let [longest, work] = [0, 0];
  for (const { name, tdur = 0 } of own) {
    if (name === 'FireAnimationFrame') work = 0;
    else work += tdur / 1_000;
    longest = Math.max(longest, work);
  }
  return longest;
}

/** Rules that axe finds broken, one entry a rule, screen and colour scheme. */
export async function axeViolations(
  browser: Browser,
  served: Served,
  screens: readonly string[],
): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    const { context, page } = await open(browser, served, { colorScheme });
    for (const screen of screens) {
      await show(page, served, screen);
      const { violations } = await new AxeBuilder({ page }).analyze();
      for (const { id, nodes } of violations)
        found.push(`${id} on ${screen} (${colorScheme}): ${nodes[0]?.html.slice(0, 120) ?? ''}`);
    }
    await context.close();
  }
  return found;
}

/** Opens a screen and waits until it has drawn what it reads. */
export async function show(page: Page, { origin }: Served, screen: string): Promise<void> {
  await page.goto('about:blank');
  await page.goto(`${origin}/${screen}`);
  await page.locator('h1').waitFor();
  await page.waitForLoadState('networkidle');
}
