/** Progress tells how far the work has come, and never goes back. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { highest, withProgress } from '../../../region/start-progress.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

it('has a line every five seconds', async () => {
  const lines: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const working = withProgress(
    () => promise,
    () => Promise.resolve('half'),
    (line) => lines.push(line),
  );
  await vi.advanceTimersByTimeAsync(11_000);
  resolve();
  await working;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(lines).toEqual(['half after 5 s', 'half after 10 s']);
});

it.each([
  ['says the same', () => Promise.resolve('120 functions')],
  ['says nothing', () => new Promise<string>(() => undefined)],
])('ends slow work only where its progress %s', async (_, atLast) => {
  let count = 0;
  const working = withProgress(
    (stuck) =>
      new Promise((_, reject) => {
        stuck.addEventListener('abort', () => reject(new Error('ended', { cause: stuck.reason })));
      }),
    () => ((count += 1) <= 120 ? Promise.resolve(`${count} functions`) : atLast()),
    undefined,
  );
  const ended = working.catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(895_000);
  expect(vi.getTimerCount()).toBe(1);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await ended).toMatchObject({ cause: { message: 'it stood still for 300 s: 120 functions' } });
});

it('never counts down', async () => {
  const counts = [1, 19, 13, 0, 20];
  const count = highest(() => Promise.resolve(counts.shift() ?? 0));
  const seen: number[] = [];
  for (let look = 0; look < 5; look += 1) seen.push(await count());
  expect(seen).toEqual([1, 19, 19, 19, 20]);
});
