import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkpointInterval,
  meanSecondsBetweenInterruptions,
} from '../../../functions/launch/job/checkpoint-interval.ts';
import { attemptOf, outcomeOf, placementOf } from '../../support/builders/records.ts';

/** Seconds lost an hour of training: to saving, and of the half interval that an interruption takes. */
const lostShare = (interval: number, save: number, mean: number): number =>
  save / interval + interval / 2 / mean;

describe('the interval', () => {
  it("is Young's where nothing bounds it", () => {
    expect(checkpointInterval({ saveSeconds: 8, meanSecondsBetweenInterruptions: 10_000 })).toBe(400);
  });

  it('loses no more than any other allowed interval', () => {
    const seconds = (min: number, max: number) => fc.double({ min, max, noNaN: true });
    fc.assert(
      fc.property(seconds(0.1, 120), seconds(60, 1e6), seconds(30, 3_600), (save, mean, other) => {
        const interval = checkpointInterval({ saveSeconds: save, meanSecondsBetweenInterruptions: mean });
        expect(lostShare(interval, save, mean)).toBeLessThanOrEqual(lostShare(other, save, mean) * 1.001);
      }),
    );
  });

  it.each([
    [{ saveSeconds: 0.01, meanSecondsBetweenInterruptions: 60 }, 30],
    [{ saveSeconds: 600, meanSecondsBetweenInterruptions: 1e7 }, 3_600],
    [{ saveSeconds: 5 }, 3_600],
    [{ saveSeconds: Number.NaN, meanSecondsBetweenInterruptions: 100 }, 30],
    [{ saveSeconds: -1, meanSecondsBetweenInterruptions: -1 }, 30],
  ])('of %j is %d seconds', (question, expected) => {
    expect(checkpointInterval(question)).toBe(expected);
  });

  it('is a few minutes on Spot before any measurement', () => {
    const mean = meanSecondsBetweenInterruptions(placementOf(), []);
    expect(checkpointInterval({ meanSecondsBetweenInterruptions: mean })).toBe(537);
  });
});

describe('the mean time between interruptions', () => {
  const chosen = { ...placementOf().pool };
  const expecting = (expectedUpSeconds: number) =>
    placementOf({ considered: placementOf().considered.map((row) => ({ ...row, expectedUpSeconds })) });
  const after = (trainingSeconds: number, kind: 'interrupted' | 'serviceError') =>
    attemptOf('digits-000001', 1, { outcome: outcomeOf(kind, { trainingSeconds }) });

  it('is what placement expects of the pool at first', () => {
    expect(meanSecondsBetweenInterruptions(expecting(3_000), [])).toBe(3_000);
  });

  it('moves towards what the run has seen', () => {
    const often = [after(200, 'interrupted'), after(400, 'interrupted')];
    expect(meanSecondsBetweenInterruptions(expecting(3_000), often)).toBe(1_200);
    expect(meanSecondsBetweenInterruptions(expecting(3_000), [after(9_000, 'serviceError')])).toBe(12_000);
  });

  it('ignores On-Demand attempts and is absent on demand', () => {
    const calm = {
      ...after(9_000, 'serviceError'),
      placement: placementOf({ pool: { ...chosen, purchaseOption: 'on-demand' } }),
    };
    expect(meanSecondsBetweenInterruptions(expecting(3_000), [calm])).toBe(3_000);
    expect(meanSecondsBetweenInterruptions(calm.placement, [])).toBeUndefined();
  });
});
