import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  advance,
  chanceUp,
  fittedRegimes,
  longRun,
  meanPassageHours,
  observe,
  transition,
} from '../../belief/regimes.ts';

describe('beliefs', () => {
  it('expect fresh gains to flicker, old ones to last', () => {
    const step = transition(fittedRegimes, 1 / 6);
    let belief: readonly number[] = observe(longRun(fittedRegimes), 0, 1);
    for (let tick = 0; tick < 60; tick += 1) belief = observe(advance(belief, step), 0, 1);
    const fresh = observe(advance(belief, step), 1, 0);
    let old = fresh;
    for (let tick = 0; tick < 60; tick += 1) old = observe(advance(old, step), 1, 0);
    const lossNext = (each: readonly number[]): number => 1 - chanceUp(advance(each, step));
    expect(lossNext(fresh)).toBeGreaterThan(5 * lossNext(old));
  });

  it('are probabilities after any sights', () => {
    const step = transition(fittedRegimes, 1 / 6);
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 80 }), (sights) => {
        let belief: readonly number[] = longRun(fittedRegimes);
        for (const up of sights) belief = observe(advance(belief, step), up ? 1 : 0, up ? 0 : 1);
        const total = belief.reduce((sum, share) => sum + share, 0);
        expect(total).toBeCloseTo(1, 9);
        expect(belief.every((share) => share >= 0)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  it('know the mean time until capacity comes or goes', () => {
    const pair = {
      name: 'pair',
      ratesPerHour: [
        [0, 0.5],
        [2, 0],
      ],
    };
    expect(meanPassageHours(pair)).toEqual({ toUp: [0, 0.5], toDown: [2, 0] });
    // Two regimes with capacity: from the second one leads back to the first, and only that one is ever lost.
    const chain = {
      name: 'chain',
      ratesPerHour: [
        [0, 0, 1, 0],
        [4, 0, 0, 0],
        [1, 0, 0, 0],
        [0, 0, 1, 0],
      ],
    };
    expect(meanPassageHours(chain)).toEqual({ toUp: [0, 0, 1, 2], toDown: [1, 1.25, 0, 0] });
    const { toUp, toDown } = meanPassageHours(fittedRegimes);
    const half = toUp.length / 2;
    for (const hours of [...toUp.slice(half), ...toDown.slice(0, half)]) {
      expect(hours).toBeGreaterThan(0);
      expect(hours).toBeLessThan(30 * 24);
    }
  });
});
