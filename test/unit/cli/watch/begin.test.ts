/** Which run takes what a person has just dropped. */
import { expect, it } from 'vitest';
import { type Api, ApiError, UnreachableError } from '../../../../cli/command/api.ts';
import { runAfter, takes } from '../../../../cli/watch/begin.ts';
import { runOf } from '../../../support/builders/records.ts';

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

/** @param fates of the calls in turn; undefined: it is answered */
const apiWith = (...fates: readonly (Error | undefined)[]): Api => {
  const left = [...fates];
  return {
    call: () => {
      const error = left.shift();
      return error === undefined
        ? Promise.resolve({ runs: [runOf('digits', 1, { status: 'settling' })] } as never)
        : Promise.reject(error);
    },
  };
};
const waiting = (api: Api): Promise<string> =>
  runAfter({ api, terminal: { note: () => undefined }, pause: () => Promise.resolve() }, 'digits', undefined);

it('waits on while the API gives no answer', async () => {
  const api = apiWith(new UnreachableError('gone'), new ApiError(503, 'later'));
  expect(await waiting(api)).toBe('digits-000001');
});

it('passes on an answer that stays', async () => {
  await expect(waiting(apiWith(new ApiError(404, 'no pipeline')))).rejects.toThrow('no pipeline');
});
