/** No pattern of a declaration takes for ever, on any key or line. */

import { boundedSearch } from '@tidewheel/kit/bounded-search.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { outputReader } from '../../../cli/try/output.ts';
import { ignoredFiles } from '../arrivals/rejected-keys.ts';
import { labelOfKey } from '../bundles.ts';
import { SplitRule } from '../splits/split-rule.ts';

const KEY = `${'a'.repeat(900)}/${'b'.repeat(100)}.png`;

describe('a search', () => {
  it.each([
    '^([^/]+)/',
    '(a+)+b',
    '(?:a|b)*(c)?',
    String.raw`(\d+)-(?<year>\d+)`,
    '^(?!x)(.*)/(.*)/(.*)_(.*)_(.*)$',
  ])('for %s finds what exec finds', (source) => {
    const pattern = new RegExp(source, 'u');
    for (const text of ['', 'aab', 'patient-1/scan/2024-05.png', 'a/b/c_d_e', KEY.slice(0, 20)])
      expect(boundedSearch('it', pattern, text)).toEqual(pattern.exec(text));
  });

  it.each([
    ['packing.labelPattern', () => labelOfKey(KEY, { label: 'namePattern', labelPattern: '^(a+)+$' })],
    [
      'packing.split.groupPattern',
      () => {
        const split = {
          train: 0.9,
          test: 0.1,
          by: 'group',
          groupPattern: `^(${'[a-z]*'.repeat(12)})!`,
        } as const;
        return new SplitRule(split).of(KEY);
      },
    ],
    [
      'packing.labelPattern',
      () => {
        const labelPattern = `${String.raw`\(*`.repeat(12)}(!)`;
        return labelOfKey(`aaaa${'('.repeat(900)}`, { label: 'namePattern', labelPattern });
      },
    ],
    ['training.progress.pattern', () => outputReader(`${String.raw`\S*\s*`.repeat(8)}(?P<step>!)`).read(KEY)],
  ])('for %s that takes too long is refused', (field, search) => {
    const refusal = `${field} takes over 1 s to search "aaaa`;
    expect(search).toThrow(
      expect.objectContaining({ name: 'ConfigurationError', message: expect.stringContaining(refusal) }),
    );
  });
});

describe('packing.ignore', () => {
  it('takes no longer with many stars', () => {
    const isIgnored = ignoredFiles({ ignore: [`${'*a'.repeat(60)}*!`, `${'*a'.repeat(60)}!/`] });
    expect(isIgnored(`${'a'.repeat(1_000)}`)).toBe(false);
    expect(isIgnored(`${'a'.repeat(1_000)}!/x`)).toBe(true);
  });

  it('finds what trying every place would find', () => {
    const letters = fc.constantFrom('a', 'b', '.');
    const name = fc.string({ unit: fc.constantFrom('a', 'b', '*'), minLength: 1, maxLength: 8 });
    const key = fc.string({ unit: fc.oneof(letters, fc.constant('/')), maxLength: 12 });
    fc.assert(
      fc.property(name, fc.boolean(), key, (ignored, isFolder, path) => {
        const naive = ignored.replaceAll('*', '[^/]*');
        const expected = new RegExp(`(^|/)${naive}${isFolder ? '/.*' : ''}$`, 's').test(path);
        expect(ignoredFiles({ ignore: [`${ignored}${isFolder ? '/' : ''}`] })(path)).toBe(expected);
      }),
    );
  });
});
