import { describe, expect, it } from 'vitest';
import { isSameOnRecord } from '../same-on-record.ts';

describe('two values on record', () => {
  it('are the same in any order of fields', () => {
    expect(isSameOnRecord({ a: 1, b: { c: [1], d: 2 } }, { b: { d: 2, c: [1] }, a: 1 })).toBe(true);
  });

  it('are the same without what is undefined', () => {
    expect(isSameOnRecord({ a: 1, b: undefined }, { a: 1 })).toBe(true);
    expect(isSameOnRecord(undefined, undefined)).toBe(true);
  });

  it('differ by values and by the order of lists', () => {
    expect(isSameOnRecord({ a: 1 }, { a: 2 })).toBe(false);
    expect(isSameOnRecord([1, 2], [2, 1])).toBe(false);
    expect(isSameOnRecord({}, undefined)).toBe(false);
  });
});
