/** The forecast holds what it promises: a small version of `npm run bench:promise`. */

import { beforeAll, expect, it } from 'vitest';
import { type Kept, keptCampaign, TROUBLES } from '../../../bench/promise/campaigns.ts';
import { type Cell, cellsOf } from '../../../bench/promise/score.ts';
import { DANGER_CHANCE } from '../../../functions/run/attempts/watch-limits.ts';

const SEEDS = Array.from({ length: 20 }, (_, k) => k + 1);

let campaigns: Kept[];
let cells: readonly Cell[];
beforeAll(async () => {
  campaigns = [];
  for (const seed of SEEDS) campaigns.push(await keptCampaign(seed));
  cells = cellsOf(campaigns, () => true).filter(({ slice, share }) => slice === 'all' && share > 0);
}, 300_000);

const mean = (of: (cell: Cell) => number): number =>
  cells.reduce((sum, cell) => sum + of(cell), 0) / cells.length;

it('the intervals of end and cost hold', () => {
  expect(cells).toHaveLength(10);
  expect(mean(({ holds }) => holds)).toBeGreaterThan(0.89);
  // Where nine in ten hold, one in 400 such samples has fewer.
  for (const { holds } of cells) expect(holds).toBeGreaterThan(0.65);
  // Wilson's interval at 99 %, as the bench judges each slice.
  for (const { holdsBetween } of cells) expect(holdsBetween[1]).toBeGreaterThan(0.87);
});

it('the intervals are no wider than they need be', () => {
  expect(mean(({ width }) => width)).toBeLessThan(0.32);
});

it('the median beats the ruler that extends the past', () => {
  for (const { error, naiveError } of cells) expect(error).toBeLessThan(naiveError);
  expect(Math.abs(mean(({ bias }) => bias))).toBeLessThan(0.02);
});

it('a run in time is never called late', () => {
  const called = campaigns.filter(({ shown }) =>
    shown.some(({ share, lateChance }) => share > 0 && lateChance > DANGER_CHANCE),
  );
  expect(called.filter(({ isLate }) => !isLate)).toEqual([]);
});

it.each(TROUBLES)('%s is announced an hour ahead', async (trouble) => {
  const { isLate, warnedAhead } = await keptCampaign(1, trouble);
  expect(isLate).toBe(true);
  expect(warnedAhead).toBeGreaterThanOrEqual(3_600);
});
