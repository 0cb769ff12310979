import { expect, it } from 'vitest';
import { exitCodeOf } from '../../../bench/latency/rounds.ts';

const exitCode = (...killSeconds: number[]) => exitCodeOf(killSeconds.map((each) => ({ killSeconds: each })));

it('a latency above four seconds fails', () => {
  expect([exitCode(3.2, 4), exitCode(3.2, 4.001, 1)]).toEqual([0, 1]);
});

it('a latency that is not known fails', () => {
  expect(exitCode(3, Number.NaN)).toBe(1);
});
