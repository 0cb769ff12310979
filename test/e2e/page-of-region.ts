/** The page of a region that really trains, in a real browser. */
import type { Region } from '@tidewheel/emulators/region/region.ts';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { buildPage } from '../../cli/page/page-files.ts';
import { servePage } from '../../cli/page/page-server.ts';
import { startBrowser } from '../support/browser.ts';

/**
 * From the pipelines to a run with its life line, curve and report.
 * @param output of the start, which prints the address
 * @param runId of a run that has a report
 */
export async function readOnThePage(output: string, runId: string): Promise<void> {
  const address = /in a browser\s+(http\S+)/.exec(output)?.[1] ?? '';
  const chromium = await startBrowser();
  try {
    const page = await chromium.browser.newPage();
    page.setDefaultTimeout(30_000);
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    await page.goto(address);
    await page
      .getByRole('link', { name: runId.replace(/-\d+$/, ''), exact: true })
      .first()
      .waitFor();
    await page.goto(`${address}#/runs/${runId}`);
    await page.locator('.chart canvas').first().waitFor();
    await page.getByText('Took', { exact: true }).waitFor();
    expect(await page.locator('rect.spot, rect.on-demand').count()).toBeGreaterThan(0);
    expect(errors).toEqual([]);
  } finally {
    await chromium.stop();
  }
}

/** A key that would run code in a page that took it for HTML. */
export const HOSTILE = '<img src=x onerror="alert(1)">.txt';

/** A run of the demo takes about a minute, and several on a busy machine. */
const RUN_MILLISECONDS = 400_000;

/** The page as a person has it open beside a region. */
export interface OpenPage {
  /** Follows a run without a reload, until it ends. @returns what was seen of it, in this order */
  watch(runId: string): Promise<readonly string[]>;
  /** Presses Stop, then waits for the run to be stopped. */
  stop(runId: string): Promise<void>;
  /** Presses Retry, and waits until the run trains. */
  retry(runId: string): Promise<void>;
  /** What the data screen shows of a generation. */
  data(pipeline: string, generation: string): Promise<string>;
  /** Of scripts; hostile text would make some. */
  readonly errors: readonly string[];
  close(): Promise<void>;
}

export async function openPage({
  stack,
  credentials,
}: Pick<Region, 'stack' | 'credentials'>): Promise<OpenPage> {
  const deps = { files: await buildPage(), apiUrl: stack.apiUrl, region: 'us-east-1', credentials };
  const served = await servePage(deps);
  const chromium = await startBrowser();
  const page = await chromium.browser.newPage();
  page.setDefaultTimeout(RUN_MILLISECONDS);
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(served.address);
  const show = async (screen: string): Promise<void> => {
    await page.goto(`${new URL(served.address).origin}/${screen}`);
  };
  return {
    errors,
    watch: async (runId) => {
      await show(`#/runs/${runId}`);
      return seenOf(page);
    },
    stop: async (runId) => {
      await show(`#/runs/${runId}`);
      await page.getByRole('button', { name: 'Stop…' }).click();
      await page.getByText('The newest checkpoint is of').waitFor();
      await page.getByRole('button', { name: 'Stop after a save' }).click();
      await page.getByText('Is being stopped').waitFor();
      await page.getByRole('button', { name: 'Retry…' }).waitFor();
    },
    retry: async (runId) => {
      await show(`#/runs/${runId}`);
      await page.getByRole('button', { name: 'Retry…' }).click();
      await page.getByText(/It goes on from \w+ \d+/).waitFor();
      await page.getByRole('button', { name: 'Retry', exact: true }).click();
      await stateOf(page, 'training').waitFor();
    },
    data: async (pipeline, generation) => {
      await show(`#/pipelines/${pipeline}/data?generation=${generation}`);
      await page.getByRole('heading', { name: 'Rejected' }).waitFor();
      return page.locator('main').innerText();
    },
    close: async () => {
      served.close();
      await chromium.stop();
    },
  };
}

const stateOf = (page: Page, state: string) => page.locator('main .pill').getByText(state, { exact: true });

/** Each is waited for until it is on the screen. */
async function seenOf(page: Page): Promise<readonly string[]> {
  const steps = {
    training: stateOf(page, 'training'),
    curve: page.locator('.chart canvas').first(),
    'lost capacity': page
      .getByRole('list', { name: 'timeline' })
      .getByText(/interrupted|reclaimed/)
      .first(),
    'two attempts': page.locator('rect.spot, rect.on-demand').nth(1),
    end: stateOf(page, 'succeeded'),
    report: page.getByText('Took', { exact: true }),
  };
  const seen: string[] = [];
  for (const [name, step] of Object.entries(steps)) {
    await step.waitFor({ state: 'attached' });
    seen.push(name);
  }
  return seen;
}
