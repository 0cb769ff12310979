/** Values of SciPy 1.17.1: stats.t.sf, stats.t.isf, stats.binomtest(…, alternative='greater'). */
import { describe, expect, it } from 'vitest';
import { coinTail, studentAbove, studentTail } from '../statistics/distributions.ts';

describe('tails', () => {
  it.each([
    [0.5, 3, 0.3257239824240755],
    [2, 10, 0.03669401738537018],
    [3.5, 19, 0.0011976733448414046],
    [4.1, 199, 3.0083324073448276e-5],
    [1, 1, 0.25],
    [-2.5, 49, 0.9920921055764099],
    [6, 999, 1.3781345344522111e-9],
  ])('of t %d with %d degrees are those of SciPy', (t, degrees, chance) => {
    expect(studentTail(t, degrees) / chance).toBeCloseTo(1, 9);
  });

  it.each([
    [0.025, 19, 2.09302405440831],
    [0.0005, 199, 3.3400865561614315],
    [2e-5, 49, 4.514138206312851],
    [0.025, 19_999, 1.9600826110898157],
  ])('below %d at %d degrees begin where they do in SciPy', (chance, degrees, t) => {
    expect(studentAbove(chance, degrees)).toBeCloseTo(t, 8);
  });

  it.each([
    [10, 2, 0.019287109375],
    [30, 12, 0.003957948667448363],
    [3, 0, 0.125],
    [0, 5, 1],
    [700, 640, 0.05348996262245481],
    [12, 12, 0.5805901288986206],
  ])('of %d heads against %d are those of SciPy', (heads, others, chance) => {
    expect(coinTail(heads, heads + others) / chance).toBeCloseTo(1, 9);
  });
});
