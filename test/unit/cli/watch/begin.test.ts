/** Which run takes what a person has just dropped. */
import { expect, it } from 'vitest';
import { takes } from '../../../../cli/watch/begin.ts';

const run = (runId: string, status: 'settling' | 'training' | 'succeeded') => ({ runId, status });

it.each([
  ['no run yet', undefined, undefined, false],
  ['the first run', run('a-1', 'settling'), undefined, true],
  ['an earlier run that has ended', run('a-1', 'succeeded'), run('a-1', 'succeeded'), false],
  ['an earlier run that trains still', run('a-1', 'training'), run('a-1', 'training'), false],
  ['a run that settles still', run('a-1', 'settling'), run('a-1', 'settling'), true],
  ['a run that has begun since', run('a-2', 'training'), run('a-1', 'training'), true],
])('%s', (_, newest, before, taken) => {
  expect(takes(newest, before)).toBe(taken);
});
