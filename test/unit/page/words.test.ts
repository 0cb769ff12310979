/** How the page says what it shows: what leads, what needs a person, and in how many letters. */
import { describe, expect, it } from 'vitest';
import {
  axisOf,
  bestOf,
  curveColumns,
  leadingFirst,
  type SeriesView,
  smoothed,
} from '../../../page/model/curve.ts';
import { causeOf, shortName, shortNumber, spanText, whenText, wordsOf } from '../../../page/model/format.ts';
import { leadingOf } from '../../../page/model/leading.ts';
import { needsOf } from '../../../page/model/needs.ts';
import { AT, attemptOf, modelOf, outcomeOf, runOf, secondsAfter } from '../../support/builders/records.ts';

const seriesOf = (
  name: string,
  values: readonly (number | null)[],
  attempts: readonly number[] = [],
): SeriesView => ({
  name,
  source: 'log',
  unit: 'step',
  pointCount: values.length,
  lost: [],
  points: values.map((value, place) => ({
    value,
    position: place,
    at: secondsAfter(place * 10),
    attempt: attempts[place] ?? 1,
  })),
});

describe('curves', () => {
  it('stand in the order of what they say', () => {
    const names = ['lr', 'train_loss', 'speed', 'eval/f1', 'grad_norm'];
    const all = [...names.map((name) => seriesOf(name, [1])), seriesOf('nothing', [null])];
    expect(leadingFirst(all, 'speed').map(({ name }) => name)).toEqual([
      'speed',
      'eval/f1',
      'train_loss',
      'lr',
      'grad_norm',
    ]);
  });

  it('of one name show the one with more points', () => {
    expect(leadingFirst([seriesOf('loss', [1]), seriesOf('loss', [1, 2])], undefined)).toHaveLength(1);
    expect(leadingFirst([seriesOf('loss', [1]), seriesOf('loss', [1, 2])], undefined)[0]?.pointCount).toBe(2);
  });

  it('are smoothed from their first value, over gaps', () => {
    expect(smoothed([2, null, 2, undefined, 2])).toEqual([2, null, 2, undefined, 2]);
    const [first, second] = smoothed([0, 1]).map(Number);
    expect(first).toBe(0);
    expect(second).toBeGreaterThan(0.5);
    expect(second).toBeLessThan(1);
  });

  it('mark where a later attempt went on', () => {
    const columns = curveColumns(
      seriesOf('loss', [3, 2, 1], [1, 1, 2]),
      axisOf('step', { attempts: [], money: MONEY }),
    );
    expect(columns.marks).toEqual([2]);
  });

  it('have their best where less or more is better', () => {
    expect(bestOf(seriesOf('loss', [3, null, 1]))?.position).toBe(2);
    expect(bestOf(seriesOf('accuracy', [3, null, 1]))?.position).toBe(0);
    expect(bestOf(seriesOf('accuracy', [3, null, 1]), 'min')?.position).toBe(2);
  });
});

const MONEY = {
  asOf: secondsAfter(200),
  usd: 3,
  usdPerSecond: 0,
  byPurchaseOption: [],
  onDemandUsd: 3,
  lost: { seconds: 0, usd: 0 },
};

it('dollars grow while an attempt holds its hosts', () => {
  const attempts = [
    {
      ...attemptOf('digits-000001', 1, {
        createdAt: AT,
        outcome: outcomeOf('interrupted', { startedAt: AT, endedAt: secondsAfter(100) }),
      }),
      costUsd: 2,
    },
    attemptOf('digits-000001', 2, { createdAt: secondsAfter(150) }),
  ];
  const { xOf } = axisOf('dollars', { attempts, money: MONEY });
  const at = (seconds: number) => xOf({ position: 0, value: 0, attempt: 1, at: secondsAfter(seconds) });
  expect([0, 50, 120, 175, 300].map(at)).toEqual([0, 1, 2, 2.5, 3]);
});

describe('what leads', () => {
  const run = runOf('digits', 1, { status: 'training' });
  it('says most, and has its best and last', () => {
    const leading = leadingOf({ run }, [seriesOf('loss', [2, 1]), seriesOf('val_accuracy', [0.5, 0.9, 0.8])]);
    expect(leading).toMatchObject({
      name: 'val_accuracy',
      value: '0.9',
      note: 'highest of 3, at step 1; last 0.8',
    });
  });

  it('is nothing where nothing was measured', () => {
    expect(leadingOf({ run }, [])).toBeUndefined();
  });
});

it('needs a person: failures, declarations and models', () => {
  const pipeline = { name: 'a', openBatch: 2, updatedAt: AT };
  const failure = 'the script ended\nTraceback (most recent call last):\n  File "x"\nKeyError: 3';
  const failed = runOf('b', 2, { status: 'failed', failure });
  const needs = needsOf(
    [{ ...pipeline, valid: false, problems: [{ path: 'compute', message: 'is missing' }] }],
    [failed, runOf('c', 2, { status: 'succeeded' }), runOf('c', 1, { status: 'failed' })],
  );
  expect(needs.map(({ pipeline, text }) => [pipeline, text])).toEqual([
    ['b', 'KeyError: 3'],
    ['a', 'is declared wrongly: compute: is missing'],
  ]);
  const acknowledgement = { at: AT, requestedBy: 'ada' };
  expect(needsOf([], [{ ...failed, acknowledgement }])).toEqual([]);
  const waiting = modelOf(3, 'candidate', { judged: { verdict: 'inconclusive', metric: 'accuracy' } });
  const models = [
    { pipeline: 'd', means: [], waiting },
    { pipeline: 'e', means: [] },
  ];
  expect(needsOf([], [], models)).toEqual([
    {
      kind: 'model',
      pipeline: 'd',
      text: 'has a model that waits for you: digits-000003, too close to tell',
    },
  ]);
});

it.each([
  ['one line', { cause: 'one line' }],
  ['first\nsecond', { cause: 'first', more: 'first\nsecond' }],
])('the cause of %j', (failure, cause) => {
  expect(causeOf(failure)).toEqual(cause);
});

it('shortens without losing what tells things apart', () => {
  expect(shortName('cells-of-the-big-tissue-scan-000012')).toBe('cells-of-…-000012');
  expect([0, 0.000_21, 0.123_456, 9_600.4].map(shortNumber)).toEqual(['0', '2.1e-4', '0.1235', '9,600']);
  expect([wordsOf('RebalanceRecommended'), wordsOf('too-few-workers')]).toEqual([
    'Rebalance recommended',
    'Too few workers',
  ]);
});

it('says the day only where it is another', () => {
  const now = new Date(2026, 10, 29, 12).getTime();
  const at = (day: number) => whenText(new Date(2026, 10, day, 9, 5).getTime(), now);
  expect([at(29), at(28), at(30)]).toEqual(['09:05', 'yesterday 09:05', 'tomorrow 09:05']);
  expect(at(3)).toContain('3');
});

it('times within a minute have seconds', () => {
  const at = (second: number) => new Date(2026, 10, 29, 9, 5, second).getTime();
  expect(spanText(at(2), at(28))).toBe('09:05:02 to 09:05:28');
  expect(spanText(at(2), at(70))).toMatch(/09:05 to .*09:06$/);
});
