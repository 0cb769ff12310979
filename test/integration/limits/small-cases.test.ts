/** A small form of `npm run bench:limits`. */
import { describe, expect, it } from 'vitest';
import { runKeptListing, runLongListing } from '../../../bench/limits/long-listing.ts';
import { runMillionFiles } from '../../../bench/limits/million-files.ts';

const options = { profile: 'new-account', small: true } as const;
const SMALL_SHARE = 0.1;

describe('an account with limits', () => {
  // Beside the PUTs. The prices are those of docs/research/benchmarks.md.
  it.each([
    ['objects', 0.96],
    ['markers', 0.47],
  ] as const)('pays what is documented where S3 notifies of %s', async (notify, usdAMillion) => {
    const { ok, requests } = await runMillionFiles(notify, options);
    const spent = requests.reduce((sum, { usd }) => sum + usd, 0);
    expect(ok).toBe(true);
    expect(spent / SMALL_SHARE).toBeLessThanOrEqual(usdAMillion);
    const gets = requests.find(({ kind }) => kind === 's3 get')?.count ?? 0;
    expect(gets).toBeGreaterThanOrEqual(1_000_000 * SMALL_SHARE);
  });

  it('settles, sweeps and plans in its functions', async () => {
    const { ok, outcome, details = {} } = await runLongListing(50_000, options);
    expect({ ok, outcome }).toEqual({
      ok: true,
      outcome: 'settled after 2 looks, woke tide-000001, planned 5000 objects',
    });
    expect(Object.keys(details)).toContain('settle: peak MB of 1769');
  });

  it('plans what is new among kept keys', async () => {
    const { ok, outcome } = await runKeptListing({ keys: 50_000, fresh: 500 }, options);
    expect({ ok, outcome }).toEqual({
      ok: true,
      outcome: 'settled after 2 looks, woke tide-000001, planned 500 objects',
    });
  });
});
