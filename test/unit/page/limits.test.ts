/** What a reader writes as new limits of a run. */
import { expect, it } from 'vitest';
import { parseLimits } from '../../../page/model/limits.ts';

it('limits are those that were filled in', () => {
  expect(parseLimits({ deadlineHours: ' 12.5', budgetUsd: '' })).toEqual({ deadlineHours: 12.5 });
});

it('a text that is no number takes nothing out', () => {
  expect(parseLimits({ deadlineHours: '12h', budgetUsd: '1e999' })).toBe(
    'deadline in hours is "12h": write a number. budget in USD is "1e999": write a number.',
  );
});

it.each([{}, { deadlineHours: ' ', budgetUsd: '' }])('empty fields %j are no change', (empty) => {
  expect(parseLimits(empty)).toBe('Fill in a deadline or a budget first.');
});
