import { describe, expect, it } from 'vitest';
import { isDeeper, parseJson } from '../json.ts';

const nested = (levels: number): string => '{"a":['.repeat(levels / 2) + ']}'.repeat(levels / 2);

describe('JSON of others', () => {
  it.each([500, 502, 100_000])('is read down to 500 levels: %i', (levels) => {
    expect(parseJson(nested(levels)) === undefined).toBe(levels > 500);
  });

  it('has the depth of its brackets outside of strings', () => {
    const flat = `["${'\\"[\\\\['.repeat(300)}", [], {}]`;
    expect([isDeeper(flat, 2), isDeeper(flat, 1)]).toEqual([false, true]);
    expect(isDeeper('[]'.repeat(10), 1)).toBe(false);
  });
});
