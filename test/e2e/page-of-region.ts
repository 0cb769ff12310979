/** The page of a region that has really trained, in a real browser. */
import { expect } from 'vitest';
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
    await page.locator('.curve-figure canvas').first().waitFor();
    await page.getByText('interruptions', { exact: true }).waitFor();
    expect(await page.locator('rect.spot, rect.on-demand').count()).toBeGreaterThan(0);
    expect(errors).toEqual([]);
  } finally {
    await chromium.stop();
  }
}
