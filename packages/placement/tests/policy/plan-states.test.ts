import { expect, it } from 'vitest';
import { nearestCentre } from '../../policy/market-model.ts';
import { IDLE, ON_DEMAND, rowFor, SPOT } from '../../policy/plan-pass.ts';

it('gives Spot without capacity the idle row', () => {
  const chain = { upStates: 1, step: [[1], [1]] };
  const rows = [0, 1].map((state) =>
    ([IDLE, ON_DEMAND, SPOT] as const).map((ran) => rowFor(chain, state, ran)),
  );
  expect(rows).toEqual([
    [0, 1, 4],
    [2, 3, 2],
  ]);
});

it('finds the first group where no centre is nearest', () => {
  expect(nearestCentre([[0.2], [0.9]], [0.8])).toBe(1);
  expect(nearestCentre([[0.2], [0.9]], [Number.NaN])).toBe(0);
  expect(nearestCentre([], [0.8])).toBe(0);
});
