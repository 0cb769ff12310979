import { execFileSync } from 'node:child_process';
import { shellQuote } from '@tidewheel/kit/shell-quote.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planOf, scriptOf } from '../../support/builders/fleet.ts';

describe('the user data', () => {
  it('is a script that a shell can read', () => {
    expect(() => execFileSync('bash', ['-n'], { input: scriptOf(planOf()) })).not.toThrow();
  });
});

describe('shellQuote', () => {
  it('gives a shell back exactly what it was given', () => {
    const text = fc
      .string({ unit: 'binary', maxLength: 60 })
      .filter((value) => !value.includes('\0') && value.isWellFormed());
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 8 }), (values) => {
        const script = values.map((value) => `printf '%s\\0' ${shellQuote(value)}`).join('\n');
        expect(execFileSync('bash', ['-c', script], { encoding: 'utf8' })).toBe(
          values.map((value) => `${value}\0`).join(''),
        );
      }),
      { numRuns: 25 },
    );
  });

  it('refuses what no shell can hold', () => {
    expect(() => shellQuote('a\0b')).toThrow(/NUL/);
  });
});
