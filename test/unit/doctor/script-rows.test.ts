/** Lines of the table that npm run bench:doctor-scripts prints. */
import { expect, test } from 'vitest';
import { lineOf, type Row } from '../../../bench/doctor/scripts/row.ts';

const unmeasured: Row = {
  name: 'nanogpt',
  problem: undefined,
  isRight: undefined,
  verdict: 'too few points',
  stepSeconds: undefined,
  forecast: undefined,
  measured: undefined,
};

test('what was not measured is empty', () => {
  expect(lineOf(unmeasured)).toEqual(['nanogpt', 'too few points', '', '', '', '']);
});

test('why a script did not run is one line', () => {
  const problem = 'nanogpt-alone ended by itself\nTraceback (most recent call last):';
  expect(lineOf({ ...unmeasured, problem })[1]).toBe('did not run: nanogpt-alone ended by itself');
});

test('a forecast stands with its interval', () => {
  const forecast = { low: 0.2, expected: 0.3, high: 0.4 };
  const row = { ...unmeasured, isRight: true, stepSeconds: 0.5, forecast, measured: 0.31 };
  expect(lineOf(row).slice(2)).toEqual(['yes', '0.500', '0.300 (0.200 to 0.400)', '0.310']);
});
