/** Pictures of the screens for the docs: small, and of the same region in memory that the figures are measured on. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import sharp from 'sharp';
import { open, type Served, show } from './measures.ts';
import { ENDED_RUN, LONG_RUN, OPEN_RUN } from './world.ts';

interface Picture {
  readonly name: string;
  readonly screen: string;
  readonly dark?: true;
  readonly width?: number;
  /** Below the loss stands how busy the hosts were. */
  readonly height?: number;
}

const PICTURES: readonly Picture[] = [
  { name: 'now', screen: '#/' },
  { name: 'run', screen: `#/runs/${OPEN_RUN}`, height: 1_400 },
  { name: 'run-dark', screen: `#/runs/${OPEN_RUN}`, dark: true },
  { name: 'run-narrow', screen: `#/runs/${OPEN_RUN}`, width: 390 },
  { name: 'run-ended', screen: `#/runs/${ENDED_RUN}` },
  { name: 'why', screen: `#/runs/${OPEN_RUN}/why` },
  { name: 'log', screen: `#/runs/${OPEN_RUN}/log` },
  { name: 'runs', screen: '#/pipelines/digits' },
  { name: 'data', screen: '#/pipelines/digits/data' },
  { name: 'probes', screen: '#/pipelines/digits/probes' },
  { name: 'market', screen: '#/market' },
  { name: 'money', screen: '#/money' },
  { name: 'compare', screen: `#/compare?runs=${OPEN_RUN},${LONG_RUN}&series=loss` },
];

const HEIGHT = 900;
const WIDTH = 1_200;

export async function takeScreenshots(browser: Browser, served: Served, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const { name, screen, dark, width = WIDTH, height = HEIGHT } of PICTURES) {
    const { context, page } = await open(browser, served, {
      viewport: { width, height },
      colorScheme: dark ? 'dark' : 'light',
    });
    await show(page, served, screen);
    // Images of samples come when they are in view.
    await page.waitForTimeout(800);
    const picture = await page.screenshot();
    await sharp(picture)
      .webp({ quality: 70 })
      .toFile(path.join(folder, `${name}.webp`));
    await context.close();
  }
}
