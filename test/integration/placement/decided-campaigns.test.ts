/**
 * Campaigns of 24 hours decided by `place`, `whyStop` and `reviseAttempt` themselves, attempt by attempt, on traces drawn
 * from the fitted chain, beside what the simulator's policy pays for the same traces by the same rules of billing. The
 * simulator sees every tick where Spot is there; `place` sees it by asking, or by placement scores.
 */
import { describe, expect, it } from 'vitest';
import {
  decidedCampaigns,
  type ScoresTold,
  SETTING,
  type Summary,
  summaryOf,
} from '../../../bench/placement/decided/play.ts';

/** Three zones that differ in price, and lose their capacity each for itself. */
const SEVERAL = { ...SETTING, spotUsd: [0.9731, 1.12, 1.35] };
const SEEDS = Array.from({ length: 20 }, (_, k) => k + 1);

const played = async (told: ScoresTold, setting = SETTING, seeds = SEEDS): Promise<Summary> =>
  summaryOf(await decidedCampaigns(told, { setting, seeds }));

describe('a campaign of 24 hours, decided attempt by attempt', () => {
  it('costs what the simulator says with right scores', async () => {
    const { late, near, together } = await played('right');
    expect(late).toBe(0);
    // Of 20, with the one that is off by more: the last ticks of slack are kept for On-Demand being refused.
    expect(near).toBeGreaterThanOrEqual(SEEDS.length - 1);
    expect(Math.abs(together - 1)).toBeLessThan(0.02);
  });

  it('costs little more with some wrong scores', async () => {
    const { late, near, together, worst } = await played('wrong');
    expect(late).toBe(0);
    expect(near).toBeGreaterThanOrEqual(16);
    expect(together).toBeLessThan(1.05);
    expect(worst).toBeLessThan(1.35);
  });

  it('meets every deadline without scores', async () => {
    const { late, near, together, worst } = await played('none');
    expect(late).toBe(0);
    expect(near).toBeGreaterThanOrEqual(16);
    expect(together).toBeLessThan(1.08);
    expect(worst).toBeLessThan(1.7);
  });

  it('costs what the simulator says over several zones', async () => {
    const { late, near, together, worst } = await played('right', SEVERAL);
    expect(late).toBe(0);
    // Two are off by half a percent more: a score is not trusted as much as sight.
    expect(near).toBeGreaterThanOrEqual(SEEDS.length - 2);
    expect(Math.abs(together - 1)).toBeLessThan(0.02);
    expect(worst).toBeLessThan(1.1);
  });

  it('meets every deadline over several zones', async () => {
    const misled = await played('wrong', SEVERAL, SEEDS.slice(0, 8));
    const blind = await played('none', SEVERAL);
    expect([misled.late, blind.late]).toEqual([0, 0]);
    expect(misled.together).toBeLessThan(1.08);
    expect(blind.together).toBeLessThan(1.08);
  });
});
