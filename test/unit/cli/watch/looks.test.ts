/** What `watch` makes of an API that goes away. */
import { expect, it, vi } from 'vitest';
import { type Api, ApiError, UnreachableError } from '../../../../cli/command/api-calls.ts';
import { RunPolling } from '../../../../cli/watch/looks.ts';
import { News } from '../../../../cli/watch/news.ts';
import type { Watched } from '../../../../cli/watch/screen.ts';
import { AT, declarationOf, runOf } from '../../../support/builders/records.ts';

const answers: Record<string, unknown> = {
  getRun: {
    run: runOf('digits', 1, { status: 'settling' }),
    attempts: [],
    timeline: [{ id: 'a', at: AT, kind: 'Settled', text: '3 objects' }],
    money: {},
  },
  getSeries: { series: [] },
  getPipeline: {
    name: 'digits',
    declaration: JSON.stringify(declarationOf('digits', { settle: { quietSeconds: 7, marker: 'DONE' } })),
  },
};

/** @param fate of each call in turn; undefined: it is answered */
const apiWith = (fate: () => Error | undefined): Api => ({
  call: (operation) => {
    const error = fate();
    return error === undefined ? Promise.resolve(answers[operation] as never) : Promise.reject(error);
  },
});

it.each([new UnreachableError('gone'), new ApiError(503, 'later')])(
  'keeps what it saw while none answers: %s',
  async (error) => {
    let fate: Error | undefined;
    const looks = new RunPolling(
      apiWith(() => fate),
      'digits-000001',
    );
    const news = new News();
    const first = await looks.next();
    expect(news.of(first).join('\n')).toMatch(
      /Settled: 3 objects\n.*digits-000001 settles: it packs when nothing has arrived for 7 s .*, or DONE arrives$/,
    );
    fate = error;
    const silent = await looks.next();
    expect(silent.view).toBe(first.view);
    expect(news.of(silent).join()).toMatch(/^the API gives no answer since \d\d:\d\d; the run goes on/);
    expect(news.of(await looks.next())).toEqual([]);
    fate = undefined;
    expect((await looks.next()).silentSince).toBeUndefined();
  },
);

it('progress without a total is written now and then', () => {
  vi.useFakeTimers({ now: Date.parse(AT) });
  const news = new News();
  const at = (step: number): Watched => ({
    view: {
      ...(answers['getRun'] as Watched['view']),
      timeline: [],
      money: {} as Watched['view']['money'],
      progress: { step, totalSteps: 0, unit: 'epoch', checkpoint: 'a', updatedAt: AT },
    },
    series: [],
  });
  expect(news.of(at(1))).toEqual(['2026-11-20T00:00:00Z epoch 1']);
  expect(news.of(at(2))).toEqual([]);
  vi.advanceTimersByTime(30_000);
  expect(news.of(at(2))).toEqual(['2026-11-20T00:00:30Z epoch 2']);
  vi.advanceTimersByTime(60_000);
  expect(news.of(at(2))).toEqual([]);
  vi.useRealTimers();
});

it('passes on what a later call cannot change', async () => {
  let fate: Error | undefined = new UnreachableError('not there');
  const looks = new RunPolling(
    apiWith(() => fate),
    'digits-000001',
  );
  await expect(looks.next()).rejects.toThrow('not there');
  fate = undefined;
  await looks.next();
  fate = new ApiError(404, 'no such run');
  await expect(looks.next()).rejects.toThrow('no such run');
});
