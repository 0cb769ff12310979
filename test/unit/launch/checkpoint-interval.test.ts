import type { Placement } from '@tidewheel/placement/records.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { intervalOf } from '../../../functions/launch/job/checkpoint-interval.ts';
import type { AttemptRecord } from '../../../functions/records/run-records.ts';
import { attemptOf, outcomeOf, placementOf, progressOf } from '../../support/builders/records.ts';

const RUN = 'digits-000001';
const expecting = (expectedUpSeconds: number | undefined): Placement =>
  placementOf({ considered: placementOf().considered.map((row) => ({ ...row, expectedUpSeconds })) });
const onDemand = placementOf({ pool: { ...placementOf().pool, purchaseOption: 'on-demand' } });

interface Choice {
  readonly save?: number;
  /** What placement expects between interruptions. */
  readonly mean?: number;
  readonly placement?: Placement;
  readonly earlier?: readonly AttemptRecord[];
}
const interval = ({ save, mean, placement = expecting(mean), earlier = [] }: Choice): number =>
  intervalOf(
    attemptOf(RUN, 2, {
      placement,
      ...(save !== undefined && { progressBefore: progressOf(1, { saveSeconds: save }) }),
    }),
    earlier,
  );

/** Seconds lost an hour of training: to saving, and of the half interval that an interruption takes. */
const lostShare = (seconds: number, save: number, mean: number): number =>
  save / seconds + seconds / 2 / mean;

describe('the interval', () => {
  it("is Young's where nothing bounds it", () => {
    expect(interval({ save: 8, mean: 10_000 })).toBe(400);
  });

  it('loses no more than any other allowed interval', () => {
    const seconds = (min: number, max: number) => fc.double({ min, max, noNaN: true });
    fc.assert(
      fc.property(seconds(0.1, 120), seconds(60, 1e6), seconds(30, 3_600), (save, mean, other) => {
        const chosen = interval({ save, mean });
        expect(lostShare(chosen, save, mean)).toBeLessThanOrEqual(lostShare(other, save, mean) * 1.001);
      }),
    );
  });

  it.each([
    [{ save: 0.01, mean: 60 }, 30],
    [{ save: 600, mean: 1e7 }, 3_600],
    [{ save: 5, placement: onDemand }, 3_600],
    [{ save: Number.NaN, mean: 100 }, 30],
    [{ save: -1, mean: -1 }, 30],
  ])('of %j is %d seconds', (choice, expected) => {
    expect(interval(choice)).toBe(expected);
  });

  it('is a few minutes on Spot before any measurement', () => {
    expect(interval({ placement: placementOf() })).toBe(537);
  });
});

describe('the mean time between interruptions', () => {
  /** Of a save that makes the interval the square root of the mean. */
  const mean = (choice: Omit<Choice, 'save'>): number => interval({ ...choice, save: 0.5 }) ** 2;
  const after = (trainingSeconds: number, kind: 'interrupted' | 'serviceError') =>
    attemptOf(RUN, 1, { outcome: outcomeOf(kind, { trainingSeconds }) });

  it('is what placement expects of the pool at first', () => {
    expect(mean({ mean: 10_000 })).toBe(10_000);
  });

  it('moves towards what the run has seen', () => {
    const often = [after(2_000, 'interrupted'), after(4_000, 'interrupted')];
    expect(mean({ mean: 13_200, earlier: often })).toBe(6_400);
    expect(mean({ mean: 3_000, earlier: [after(7_000, 'serviceError')] })).toBe(10_000);
  });

  it('ignores On-Demand attempts', () => {
    const calm = { ...after(7_500, 'serviceError'), placement: onDemand };
    expect(mean({ mean: 2_500, earlier: [calm] })).toBe(2_500);
  });
});
