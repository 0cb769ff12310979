/** What the page says of attempts that no curve shows. */
import { expect, it } from 'vitest';
import { attemptsWithoutPoints, lonePoints, type SeriesView } from '../../../page/model/curve.ts';
import { AT, attemptOf, outcomeOf } from '../../support/builders/records.ts';

const ID = 'digits-000001';
const point = (attempt: number) => ({ attempt, at: AT, position: 1, value: 0.5 });
const series = (over: Partial<SeriesView> = {}): SeriesView => ({
  name: 'loss',
  source: 'log',
  unit: 'step',
  pointCount: 1,
  points: [point(2)],
  lost: [],
  ...over,
});
const interrupted = outcomeOf('interrupted', { scriptStartedAt: AT });
const attempts = [
  attemptOf(ID, 1, { outcome: interrupted }),
  attemptOf(ID, 2, { outcome: interrupted }),
  attemptOf(ID, 3),
];
const numbersOf = (all: readonly SeriesView[]) =>
  attemptsWithoutPoints(attempts, all).map(({ attempt }) => attempt);

it('names an ended attempt without a point', () => {
  expect(numbersOf([series()])).toEqual([1]);
});

it('counts lost points as points', () => {
  expect(numbersOf([series({ lost: [point(1)] })])).toEqual([]);
});

it('says nothing of a thinned series', () => {
  expect(numbersOf([series({ pointCount: 2 })])).toEqual([]);
});

it.each([
  [[], []],
  [[1], [0]],
  [[1, 2, null, 3], [3]],
  [
    [null, 1, null, undefined, 2, undefined, null],
    [1, 4],
  ],
  [[1, undefined, 2], []],
])('of %j marks the points that no line meets', (column, places) => {
  expect(lonePoints(column)).toEqual(places);
});
