import { describe, expect, it } from 'vitest';
import { seededUint32, seededUniform, shuffled } from '../seeded-random.ts';

describe('the seeded generator', () => {
  it('gives pinned numbers', () => {
    const next = seededUint32('tidewheel');
    expect([next(), next(), next()]).toEqual([4_068_905_870, 572_134_529, 1_671_602_195]);
    expect(shuffled(['a', 'b', 'c', 'd', 'e'], 7)).toEqual(['b', 'd', 'c', 'a', 'e']);
  });

  it('begins differently for neighbouring seeds', () => {
    const tenths = Array.from({ length: 80 }, (_, seed) => Math.floor(10 * seededUniform(seed)()));
    expect(new Set(tenths).size).toBe(10);
  });
});
