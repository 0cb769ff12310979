/** Distributions, digest lists and near duplicates against the obvious way to compute them. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commonOf, decodeNumbers, encodeNumbers, repeatedIn } from '../../quality/digest-list.ts';
import { Distribution, quantile } from '../../quality/distribution.ts';
import { nearDuplicates } from '../../quality/near-duplicates.ts';

const numbers = fc.array(fc.bigInt({ min: 0n, max: 40n }), { maxLength: 60 });
const sorted = (all: readonly bigint[]) => BigUint64Array.from(all).sort();

describe('a distribution', () => {
  const values = fc.array(fc.integer({ min: 1, max: 1e9 }), { minLength: 1, maxLength: 200 });

  it('gives quantiles at most 9 % too low', () => {
    fc.assert(
      fc.property(values, fc.double({ min: 0.01, max: 1, noNaN: true }), (all, part) => {
        const counted = new Distribution();
        for (const value of all) counted.add(value);
        const exact = all.toSorted((a, b) => a - b)[Math.ceil(part * all.length) - 1] ?? 0;
        const found = quantile(counted.stored, part);
        expect(found).toBeLessThanOrEqual(exact);
        expect(found).toBeGreaterThanOrEqual(exact / 2 ** (1 / 8) - 1e-6);
      }),
    );
  });

  it('is the same counted at once or added up', () => {
    fc.assert(
      fc.property(values, values, (some, others) => {
        const [all, first, second] = [new Distribution(), new Distribution(), new Distribution()];
        for (const value of [...some, ...others]) all.add(value);
        for (const value of some) first.add(value);
        for (const value of others) second.add(value);
        first.addAll(second.stored);
        expect(first.stored).toEqual(all.stored);
      }),
    );
  });
});

describe('a list of digests', () => {
  it('survives being stored', () => {
    fc.assert(
      fc.property(fc.bigUint64Array(), (all) => {
        expect(decodeNumbers(encodeNumbers(all))).toEqual(all);
      }),
    );
  });

  it('knows what it repeats and shares', () => {
    fc.assert(
      fc.property(numbers, numbers, (mine, others) => {
        const repeated = repeatedIn(sorted(mine));
        expect(repeated.further).toBe(mine.length - new Set(mine).size);
        expect(new Set(repeated.numbers)).toEqual(
          new Set(mine.filter((one) => mine.indexOf(one) !== mine.lastIndexOf(one))),
        );
        const common = commonOf(sorted(mine), sorted(others));
        expect(common.entries).toBe(mine.filter((one) => others.includes(one)).length);
        expect(new Set(common.numbers)).toEqual(new Set(mine.filter((one) => others.includes(one))));
      }),
    );
  });
});

describe('near duplicates', () => {
  const bits = (value: bigint): number => value.toString(2).replaceAll('0', '').length;
  /** Hashes close to one of a few, so that there are pairs. */
  const hash = fc
    .record({
      base: fc.constantFrom(0x0f0f_1234_ffff_0001n, 0x8000_0000_0000_0001n),
      flips: fc.array(fc.bigInt({ min: 0n, max: 63n }), { maxLength: 4 }),
    })
    .map(({ base, flips }) => flips.reduce((value, bit): bigint => value ^ (1n << bit), base));
  const looks = fc.array(fc.tuple(hash, fc.bigInt({ min: 0n, max: 5n })), { maxLength: 12 });

  it('are those of comparing every pair', () => {
    fc.assert(
      fc.property(looks, looks, (mine, others) => {
        const all = [...mine, ...others];
        const isNear = ([a, d]: readonly [bigint, bigint], [b, e]: readonly [bigint, bigint]) =>
          a !== 0n && b !== 0n && d !== e && bits(a ^ b) <= 3;
        const expected = mine.filter((one) => all.some((other) => isNear(one, other))).length;
        const found = nearDuplicates(BigUint64Array.from(mine.flat()), BigUint64Array.from(others.flat()));
        expect(found.images).toBe(expected);
      }),
    );
  });
});
