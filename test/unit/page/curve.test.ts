/** What the page says of attempts that no curve shows. */
import { expect, it } from 'vitest';
import { absenceText, evenly, lonePoints, type SeriesView, unitText } from '../../../page/model/curve.ts';
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
const textOf = (all: readonly SeriesView[]) => absenceText(attempts, all);

it('says that an interrupted attempt ended too early', () => {
  expect(textOf([series()])).toBe(
    'Attempt 1 ended before its script printed a number, so no curve shows it or the work that it lost.',
  );
});

it('says of a script without numbers what is read', () => {
  expect(textOf([])).toMatch(
    /^No number was read of what the script of attempt 1, 2 printed\. Lines such as/,
  );
});

it('counts lost points as points', () => {
  expect(textOf([series({ lost: [point(1)] })])).toBeUndefined();
});

it('says nothing of a thinned series', () => {
  expect(textOf([series({ pointCount: 2 })])).toBeUndefined();
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

it('rows of a table are evenly spread', () => {
  const items = Array.from({ length: 1_000 }, (_, place) => place);
  expect(evenly(items, 4)).toEqual([0, 333, 666, 999]);
  expect(evenly(items, 300)).toHaveLength(300);
  expect(evenly(items, 1_000)).toEqual(items);
  expect(evenly(items.slice(0, 3), 300)).toEqual([0, 1, 2]);
});

it.each([
  ['samples_per_second', '12/s'],
  ['step_ms', '12ms'],
  ['epoch_seconds', '12s'],
  ['memory_bytes', '12B'],
  ['val_loss', '12'],
])('the name %s tells the unit of %s', (name, text) => {
  expect(unitText(name, 12)).toBe(text);
});
