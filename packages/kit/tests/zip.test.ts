/** The bytes of an archive follow from its files alone. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ZipFile, zipOf } from '../zip.ts';

const file = (name: string, text: string): ZipFile => ({ name, bytes: Buffer.from(text) });

describe('an archive', () => {
  it('has the same bytes in any order', () => {
    const files = fc.uniqueArray(fc.record({ name: fc.string({ minLength: 1 }), bytes: fc.uint8Array() }), {
      selector: ({ name }) => name,
    });
    fc.assert(
      fc.property(files, (some) => {
        expect(zipOf(some.toReversed()).equals(zipOf(some))).toBe(true);
      }),
    );
  });

  it('has other bytes for other content', () => {
    const one = zipOf([file('a', 'bc')]);
    expect(zipOf([file('a', 'bd')]).equals(one)).toBe(false);
    expect(zipOf([file('b', 'bc')]).equals(one)).toBe(false);
    expect(zipOf([file('ab', 'c')]).equals(one)).toBe(false);
  });

  it("is refused beyond the format's limits", () => {
    const many = Array.from({ length: 65_535 }, (_, index) => file(String(index), ''));
    expect(() => zipOf(many)).toThrow('too much for one zip archive');
  });
});
