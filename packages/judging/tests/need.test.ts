import { expect, it } from 'vitest';
import { trainingNeed } from '../judge.ts';

const table = (...values: number[]) => new Map(values.map((value, k) => [String(k), { value }]));
const asked = { metric: 'loss', mode: 'min', worseBy: { share: 0.1 }, known: table(1, 3), since: 7 } as const;

it.each([
  ['min', [2.1], false],
  ['min', [2.3], true],
  ['min', [0.1], false],
  ['max', [1.9], false],
  ['max', [1.7], true],
] as const)('of %s, %j trains: %s', (mode, values, isNeeded) => {
  expect(trainingNeed({ ...asked, mode, arrived: table(...values) })).toMatchObject({ isNeeded, known: 2 });
});

it('enough samples train, whatever the scores', () => {
  const arrived = table(2);
  expect(trainingNeed({ ...asked, arrived, orSamples: 8 })).toMatchObject({ isNeeded: false });
  expect(trainingNeed({ ...asked, arrived, orSamples: 7 })).toMatchObject({ isNeeded: true });
});

it('nothing is said of no samples', () => {
  expect(trainingNeed({ ...asked, arrived: table() })).toBeUndefined();
});
