/** What a reader writes as new limits of a run. */
import { expect, it } from 'vitest';
import { parseLimits } from '../../../page/model/limits.ts';

it('limits are those that were filled in', () => {
  expect(parseLimits({ deadlineHours: ' 12.5', budgetUsd: '' })).toEqual({
    kind: 'limits',
    limits: { deadlineHours: 12.5 },
  });
});

it('a text that is no number takes nothing out', () => {
  expect(parseLimits({ deadlineHours: '12h', budgetUsd: '0' })).toEqual({
    kind: 'wrong',
    message:
      'deadline in hours is "12h": write a number above 0. budget in USD is "0": write a number above 0.',
  });
});

it.each(['', ' '])('empty fields %j are no change', (empty) => {
  expect(parseLimits({ deadlineHours: empty, budgetUsd: empty })).toMatchObject({ kind: 'wrong' });
});
