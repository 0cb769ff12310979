/** Which run takes what a person has just dropped. */
import { expect, it, vi } from 'vitest';
import { type Api, ApiError, UnreachableError } from '../../../../cli/command/api-calls.ts';
import { runAfter } from '../../../../cli/watch/begin.ts';
import { runOf } from '../../../support/builders/records.ts';

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

const standing = (status: 'settling' | 'training' | 'succeeded'): Api => ({
  call: () => Promise.resolve({ runs: [runOf('digits', 1, { status })] } as never),
});
/** The minutes of the wait pass at once. */
const afterWaiting = (
  api: Api,
  before: { runId: string; status: 'settling' | 'training' },
): Promise<string> => {
  vi.useFakeTimers();
  const pause = () => Promise.resolve(vi.advanceTimersByTime(30_000));
  const waited = runAfter({ api, terminal: { note: () => undefined }, pause }, 'digits', before);
  return waited.finally(() => vi.useRealTimers());
};

it.each(['training', 'succeeded'] as const)('takes no old run that is %s', async (status) => {
  const before = { runId: 'digits-000001', status: 'training' } as const;
  await expect(afterWaiting(standing(status), before)).rejects.toThrow('no run of digits has begun');
});

it.each(['training', 'succeeded'] as const)('takes a run that settled and is %s now', async (status) => {
  const before = { runId: 'digits-000001', status: 'settling' } as const;
  expect(await afterWaiting(standing(status), before)).toBe('digits-000001');
});

type Listed = readonly (readonly [number, 'settling' | 'training' | 'succeeded' | 'empty'])[];
/** @param lists newest first, one for each look; the last stays */
const listing = (...lists: readonly Listed[]): Api => {
  const left = [...lists];
  return {
    call: () => {
      const runs = (left.length > 1 ? left.shift() : left[0]) ?? [];
      return Promise.resolve({
        runs: runs.map(([batch, status]) => runOf('digits', batch, { status })),
      } as never);
    },
  };
};

it.each<[string, string, Listed, ...Listed[]]>([
  [
    'the newest',
    'digits-000003',
    [
      [3, 'training'],
      [2, 'training'],
      [1, 'succeeded'],
    ],
  ],
  [
    'none that is empty',
    'digits-000002',
    [
      [4, 'empty'],
      [3, 'empty'],
      [2, 'training'],
      [1, 'succeeded'],
    ],
  ],
  [
    'none that turns out empty',
    'digits-000002',
    [
      [3, 'settling'],
      [2, 'training'],
    ],
    [
      [3, 'empty'],
      [2, 'training'],
    ],
  ],
  [
    'the rest of its files',
    'digits-000003',
    [
      [3, 'settling'],
      [2, 'training'],
    ],
    [
      [3, 'training'],
      [2, 'training'],
    ],
  ],
  [
    'its own, which was empty',
    'digits-000002',
    [
      [2, 'empty'],
      [1, 'succeeded'],
    ],
  ],
])('of several runs takes %s', async (_, runId, ...lists) => {
  expect(await afterWaiting(listing(...lists), { runId: 'digits-000001', status: 'training' })).toBe(runId);
});

it('takes a run that settles for long', async () => {
  const api = listing([
    [3, 'settling'],
    [2, 'training'],
    [1, 'succeeded'],
  ]);
  expect(await afterWaiting(api, { runId: 'digits-000001', status: 'training' })).toBe('digits-000003');
});
