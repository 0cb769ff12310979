import { describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../../../bench/scripts/catalogue.ts';
import { type Outcome, summaryOf, tableOf, verdictOf } from '../../../../bench/scripts/outcome.ts';
import type { Script } from '../../../../bench/scripts/own-script.ts';

const held: Outcome = {
  name: 'mnist',
  origin: 'package 1.2.3',
  didStart: true,
  recognised: ['marker'],
  kills: 10,
  killsWithCheckpoint: 9,
  resumed: 3,
  restored: 3,
  steps: 120,
  lostSteps: 14,
  isDeterministic: true,
  trainings: 4,
  equal: 4,
  refusal: '',
  seconds: 9,
};

describe('the outcome of a script of others', () => {
  it('is equal only when every training was', () => {
    expect(verdictOf(held)).toBe('equal');
    expect(verdictOf({ ...held, equal: 3 })).toBe('not equal');
    expect(verdictOf({ ...held, trainings: 0, equal: 0 })).toBe('not equal');
  });

  it('proves nothing where no start restored a checkpoint', () => {
    expect(verdictOf({ ...held, restored: 0 })).toBe('equal, nothing restored');
  });

  it('is never equal where undisturbed runs differ', () => {
    expect(verdictOf({ ...held, isDeterministic: false })).toBe('not deterministic');
  });

  it('is refused when one start failed', () => {
    expect(verdictOf({ ...held, refusal: 'another path' })).toBe('refused');
  });

  it('is one row, whose reason cannot break the table', () => {
    const [, , row] = tableOf([{ ...held, refusal: 'a | b\nc' }]).split('\n');
    expect(row).toContain('refused: a \\| b c |');
    expect(tableOf([held]).split('\n')[2]).toContain(
      '| 9 of 10            | 3 of 3   | 14 again for 120 | equal  |',
    );
  });

  it('counts written scripts apart', () => {
    const outcomes = [held, { ...held, origin: 'written', equal: 0 }];
    expect(summaryOf(outcomes)).toBe(
      '2 scripts (1 written after a documentation): 1 equal, 0 equal, nothing restored, 1 not equal, 0 not deterministic, 0 refused',
    );
  });
});

const isPinned = ({ origin }: Script): boolean =>
  'release' in origin
    ? /^[\w-]+==[\d.]+ --hash=sha256:[0-9a-f]{64}$/.test(origin.release)
    : origin.documentation.startsWith('https:');

describe('the catalogue of scripts', () => {
  it('names scripts once and pins archives by hash', () => {
    expect(new Set(CATALOGUE.map(({ name }) => name)).size).toBe(CATALOGUE.length);
    expect(CATALOGUE.filter((script) => !isPinned(script))).toEqual([]);
  });
});
