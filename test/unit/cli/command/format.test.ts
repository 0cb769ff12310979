import { expect, it } from 'vitest';
import { millisecondsOf, safe, tableText } from '../../../../cli/command/format.ts';
import {
  bytesText,
  durationText,
  metricTexts,
  restartText,
  savedText,
  usdText,
} from '../../../../client/amounts.ts';
import { savedOf } from '../../../../functions/run/attempts/make-report.ts';

it('durations have at most two units', () => {
  expect([0, 42, 185, 18_720, 190_000].map(durationText)).toEqual([
    '0 s',
    '42 s',
    '3 m 05 s',
    '5 h 12 m',
    '2 d 4 h',
  ]);
});

it('a restart names its long parts', () => {
  expect(restartText({ detect: 2, place: 0.4, capacity: 82, firstStep: undefined })).toBe(
    '1 m 24 s up to the script: detect 2 s, capacity 1 m 22 s',
  );
  expect(restartText({ place: 0.2, firstStep: 5 })).toBe('5 s: first step 5 s');
  expect(restartText({ place: 0.2 })).toBe('0 s up to the script');
});

it('small sums keep their digits', () => {
  expect([0, 0.0012, 3.181].map((usd) => usdText(usd))).toEqual(['0.00', '0.0012', '3.18']);
});

it.each([
  [0.0039, 0.0203, '0.0039 0.0203 0.0164 (81 %)'],
  [0.0039, 0.0039, '0.0039 0.0039 0.0000 (0 %)'],
  // Of the exact amounts it would be 0.14.
  [0.113, 0.256, '0.11 0.26 0.15 (56 %)'],
  [0.24, 0.13, '0.24 0.13 -0.11 (-85 %)'],
])('cost %f and On-Demand %f add up as shown', (costUsd, onDemandUsd, shown) => {
  const spent = { costUsd, onDemandUsd };
  const texts = [usdText(costUsd, onDemandUsd), usdText(onDemandUsd, costUsd)];
  expect([...texts, savedText({ ...spent, ...savedOf(spent) })].join(' ')).toBe(shown);
});

it('metrics keep small values and name missing numbers', () => {
  expect(metricTexts({ accuracy: 0.971234, reward: 184.12346, lr: 0.00003, loss: null })).toEqual([
    'accuracy 0.9712',
    'reward 184.1235',
    'lr 0.00003',
    'loss is no number',
  ]);
});

it('sizes have decimal units', () => {
  expect([0, 999, 1_500, 25_000_000_000].map(bytesText)).toEqual(['0 B', '999 B', '1.5 KB', '25 GB']);
});

it('columns count what is seen, not colours', () => {
  expect(
    tableText([
      ['a', 'b'],
      ['\u001b[32mlong\u001b[39m', 'c'],
    ]),
  ).toBe('a     b\n\u001b[32mlong\u001b[39m  c');
});

it('foreign text cannot move the cursor', () => {
  expect(safe('a\u001b[2Jb\u009bc\nd')).toBe('a [2Jb c d');
});

it.each([
  ['90s', 90_000],
  ['15m', 900_000],
  ['2h', 7_200_000],
  ['1d', 86_400_000],
  ['15', undefined],
  ['-1m', undefined],
  ['', undefined],
])('the age %j is read', (text, milliseconds) => {
  expect(millisecondsOf(text)).toBe(milliseconds);
});
