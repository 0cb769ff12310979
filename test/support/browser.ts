/** A real Chromium without a window. The package brings its own browser, so that a test needs nothing installed. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import chromium from '@sparticuz/chromium';
import { type Browser, chromium as driver } from 'playwright-core';

/** Where Linux and macOS install Chrome: the package holds a browser for Linux on x64 only. */
const INSTALLED = [
  '/usr/bin/google-chrome',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

export interface TestBrowser {
  readonly browser: Browser;
  stop(): Promise<void>;
}

/**
 * @param flags Chromium's own, such as `--host-resolver-rules=MAP evil.test 127.0.0.1`
 * @throws Error where this processor has neither the package's browser nor an installed Chrome
 */
export async function startBrowser(flags: readonly string[] = []): Promise<TestBrowser> {
  const executablePath = await browserPath();
  // Chromium writes lock files into HOME, which a test does not own.
  const home = await mkdtemp(join(tmpdir(), 'tidewheel-browser-'));
  await mkdir(join(home, '.config'));
  const browser = await driver.launch({
    executablePath,
    // No sandbox, because tests may run as root; the package's own flags are for Lambda and switch CORS off.
    args: ['--no-sandbox', ...flags],
    env: { ...process.env, HOME: home },
  });
  return {
    browser,
    stop: async () => {
      await browser.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}

async function browserPath(): Promise<string> {
  if (process.platform === 'linux' && process.arch === 'x64') return chromium.executablePath();
  const found = INSTALLED.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`install Chrome: none of ${INSTALLED.join(', ')} is there`);
  return found;
}
