/** Pictures of the screens for the docs: small, and of the same region in memory that the figures are measured on. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
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
  { name: 'models', screen: '#/pipelines/digits/models', height: 1_150 },
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
  await signInPicture(browser, served, folder);
  for (const picture of PICTURES) await takePicture(browser, served, folder, picture);
}

export async function takePicture(
  browser: Browser,
  served: Served,
  folder: string,
  { name, screen, dark, width = WIDTH, height = HEIGHT }: Picture,
): Promise<void> {
  const { context, page } = await open(browser, served, {
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
  });
  await show(page, served, screen);
  // Images of samples come when they are in view.
  await page.waitForTimeout(800);
  await save(page, path.join(folder, `${name}.webp`));
  await context.close();
}

async function save(page: Page, file: string): Promise<void> {
  await sharp(await page.screenshot())
    .webp({ quality: 70 })
    .toFile(file);
}

const ISSUER = {
  issuer: 'https://issuer.example',
  authorize: '',
  token: '',
  client: 'page',
  scopes: 'openid',
};
/** A person who has signed in earlier, as page/people/sign-in.tsx keeps it. */
const SIGNED_IN = `sessionStorage.setItem('token', JSON.stringify({ text: '', name: 'ada@example.org', until: 1e15 }))`;

/** Of a stack's page, whose document names the issuer. */
async function signInPicture(browser: Browser, served: Served, folder: string): Promise<void> {
  const { context, page } = await open(browser, served, { viewport: { width: WIDTH, height: 300 } });
  await page.addInitScript(SIGNED_IN);
  await page.route(`${served.origin}/`, async (route) => {
    const response = await route.fetch();
    const about = JSON.stringify(ISSUER).replaceAll('"', '&quot;');
    const body = (await response.text()).replace('</head>', `<meta name="oidc" content="${about}"></head>`);
    await route.fulfill({ response, body });
  });
  await page.goto(`${served.origin}/`);
  await page.getByRole('button', { name: 'sign out' }).click();
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  await save(page, path.join(folder, 'sign-in.webp'));
  await context.close();
}
