import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import { describe, expect, it } from 'vitest';
import { chanceAbove, lowerBound, meanOfGroups, mirrored } from '../statistics/skewed-mean.ts';

const meanOf = (values: readonly number[]) => meanOfGroups(values.map((sum) => ({ sum, size: 1 })));

/** In 2,000 samples of 60 exponential values less 1, whose true mean is 0. */
function errorsOf(isAbove: boolean): number {
  const uniform = seededUniform('skewed');
  let wrong = 0;
  for (let trial = 0; trial < 2_000; trial += 1) {
    const of = meanOf(Array.from({ length: 60 }, () => -Math.log(1 - uniform()) - 1));
    wrong += Number(chanceAbove(isAbove ? of : mirrored(of), 0) < 0.025);
  }
  return wrong / 2_000;
}

describe('the mean of skewed values', () => {
  it('errs as often as it says, on both sides', () => {
    expect(errorsOf(true)).toBeGreaterThan(0.015);
    expect(errorsOf(true)).toBeLessThan(0.036);
    expect(errorsOf(false)).toBeGreaterThan(0.015);
    expect(errorsOf(false)).toBeLessThan(0.036);
  });

  it('has a bound exactly where the chance is met', () => {
    const of = meanOf([0.1, 0.2, 0, 0, 0, 3, 0.4, -0.2, 0.1, 0.3, 0, 0, 1.1, 0.2]);
    expect(chanceAbove(of, lowerBound(of, 0.025))).toBeCloseTo(0.025, 9);
  });

  it('is that of Student where nothing is skewed', () => {
    const of = meanOf([1, -1, 2, -2, 3, -3, 4, -4, 0, 0]);
    expect(chanceAbove({ ...of, mean: of.deviation / Math.sqrt(10) }, 0)).toBeCloseTo(0.1717182, 6);
  });

  it('is sure of values that are all the same', () => {
    const of = meanOf([0.1, 0.1, 0.1]);
    expect([chanceAbove(of, 0), chanceAbove(of, 1), lowerBound(of, 0.01)]).toEqual([0.125, 1, of.mean]);
  });

  it('weighs groups by their samples', () => {
    const of = meanOfGroups([
      { sum: 10, size: 10 },
      { sum: 0, size: 5 },
    ]);
    expect(of).toMatchObject({ count: 2, mean: expect.closeTo(10 / 15) });
  });
});
