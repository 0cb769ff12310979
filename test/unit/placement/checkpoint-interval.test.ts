import { expect, it } from 'vitest';
import { checkpointIntervalSeconds } from '../../../functions/core/placement/checkpoint-interval.ts';

/** Share of time lost to saves and to work done again, by simulation-free first principles. */
const lostShare = (interval: number, saveSeconds: number, upSeconds: number): number =>
  1 -
  (interval / (interval + saveSeconds)) *
    ((interval + saveSeconds) / upSeconds / Math.expm1((interval + saveSeconds) / upSeconds));

it.each([
  [1, 3_600],
  [30, 7_200],
  [120, 1_800],
])('loses least with a save of %d s where capacity lasts %d s', (saveSeconds, upSeconds) => {
  const best = checkpointIntervalSeconds({ saveSeconds, upSeconds });
  const least = lostShare(best, saveSeconds, upSeconds);
  for (const factor of [0.5, 0.8, 1.25, 2]) {
    expect(least).toBeLessThan(lostShare(best * factor, saveSeconds, upSeconds));
  }
});

it('never saves more often than a save takes to pay', () => {
  expect(checkpointIntervalSeconds({ saveSeconds: 600, upSeconds: 200 })).toBe(200);
});
