import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lastValues, readSeries, thinned } from '../../../functions/records/series.ts';
import { memoryObjectStore } from '../../support/fakes/object-store.ts';

const startLine = (at: number, resumedFrom?: { step: number; savedAt: number }): string =>
  JSON.stringify({ startedAt: at, resumedFrom: resumedFrom ?? null });
const pointLine = (
  position: number,
  at: number,
  values: Record<string, number | null> = { loss: 1 },
): string => JSON.stringify({ source: 'log', unit: 'step', position, at, values });
const attemptFile = (attempt: number, lines: readonly string[]) => [
  { attempt, text: `${lines.join('\n')}\n` },
];

function joined(files: ReturnType<typeof attemptFile>) {
  const store = memoryObjectStore({ now: () => new Date(0) });
  for (const { attempt, text } of files)
    store.put(`${bucketKeys.series('digits', 'digits-000001')}attempt-${attempt}.jsonl`, text);
  return readSeries(store, 'digits', 'digits-000001');
}
const steps = (points: readonly { position: number; attempt: number }[] = []) =>
  points.map(({ position, attempt }) => `${attempt}:${position}`);

describe('the series of a run', () => {
  it('lose what the next attempt does again', async () => {
    const [loss] = await joined([
      ...attemptFile(1, [startLine(0), pointLine(10, 1), pointLine(20, 2), pointLine(30, 3)]),
      ...attemptFile(2, [startLine(9, { step: 15, savedAt: 1.5 }), pointLine(20, 10), pointLine(30, 11)]),
    ]);
    expect(steps(loss?.points)).toEqual(['1:10', '2:20', '2:30']);
    expect(steps(loss?.lost)).toEqual(['1:20', '1:30']);
    expect(loss?.points[1]).toMatchObject({ at: '1970-01-01T00:00:10.000Z', value: 1 });
  });

  it("leave out the script's place", async () => {
    const values = { step: 880, totalSteps: 880, accuracy: 0.9 };
    const all = await joined(attemptFile(1, [startLine(0), pointLine(880, 1, values)]));
    expect(all.map(({ name }) => name)).toEqual(['accuracy']);
  });

  it('lose what lies past the checkpoint', async () => {
    const [loss] = await joined([
      ...attemptFile(1, [startLine(0), pointLine(10, 1), pointLine(20, 2)]),
      ...attemptFile(2, [startLine(9, { step: 15, savedAt: 1.5 })]),
    ]);
    expect([steps(loss?.points), steps(loss?.lost)]).toEqual([['1:10'], ['1:20']]);
  });

  it('keep what a checkpoint holds that counts something else', async () => {
    const [loss] = await joined([
      ...attemptFile(1, [startLine(0), pointLine(100, 1), pointLine(200, 2)]),
      ...attemptFile(2, [startLine(9, { step: 1, savedAt: 1.5 }), pointLine(101, 10)]),
    ]);
    expect(steps(loss?.points)).toEqual(['1:100', '2:101']);
  });

  it('begin again where the script does not resume', async () => {
    const [loss] = await joined([
      ...attemptFile(1, [startLine(0), pointLine(1, 1), pointLine(2, 2)]),
      ...attemptFile(2, [startLine(9), pointLine(1, 10)]),
    ]);
    expect([steps(loss?.points), steps(loss?.lost)]).toEqual([['2:1'], ['1:1', '1:2']]);
  });

  it('strictly increase and drop no point', async () => {
    const session = fc.array(fc.record({ position: fc.integer({ min: 0, max: 40 }), at: fc.nat(100) }), {
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(session, { maxLength: 6 }), async (sessions) => {
        const [loss] = await joined(
          sessions.flatMap((points, index) => {
            const rising = [...new Map(points.map((each) => [each.position, each])).values()].sort(
              (one, other) => one.position - other.position,
            );
            const lines = rising.map(({ position, at }) => pointLine(position, 100 * index + at));
            return attemptFile(index + 1, [startLine(100 * index), ...lines]);
          }),
        );
        const positions = loss?.points.map(({ position }) => position) ?? [];
        expect(positions).toEqual([...new Set(positions)].sort((one, other) => one - other));
        const written = sessions.flatMap((points) => [...new Set(points.map(({ position }) => position))]);
        expect((loss?.points.length ?? 0) + (loss?.lost.length ?? 0)).toBe(written.length);
      }),
    );
  });

  it('have the last value at each position', async () => {
    const lines = [
      startLine(0),
      pointLine(1, 1),
      pointLine(1, 2, { loss: 2 }),
      pointLine(2, 3, { loss: null }),
    ];
    const [loss] = await joined(attemptFile(1, lines));
    expect(loss?.points.map(({ position, value }) => [position, value])).toEqual([
      [1, 2],
      [2, null],
    ]);
  });

  it('pass over lines that cannot be read', async () => {
    const lines = [startLine(0), '{"source":"lo', '[]', 'null', pointLine(1, 1), '{"values":{"a":"x"}}'];
    expect(await joined(attemptFile(1, lines))).toMatchObject([{ points: [{ position: 1 }] }]);
    expect(await joined(attemptFile(1, ['text']))).toEqual([]);
  });

  it('are read in the order of attempts', async () => {
    const store = memoryObjectStore({ now: () => new Date(0) });
    const put = (attempt: number, lines: string[]) =>
      store.put(`${bucketKeys.series('digits', 'digits-000001')}attempt-${attempt}.jsonl`, lines.join('\n'));
    put(10, [startLine(9), pointLine(3, 10)]);
    put(2, [startLine(0), pointLine(2, 1)]);
    const [loss] = await readSeries(store, 'digits', 'digits-000001');
    expect(steps(loss?.points)).toEqual(['2:2', '10:3']);
  });

  it('are thinned evenly, first and last kept', () => {
    const points = Array.from({ length: 1_001 }, (_, index) => index);
    const few = thinned(points, 11);
    expect(few).toEqual([0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000]);
    expect(thinned(few, 11)).toBe(few);
  });
});

describe('the last values', () => {
  const lastOf = async (...files: ReturnType<typeof attemptFile>[]) => lastValues(await joined(files.flat()));
  const line = (unit: string, position: number, at: number, loss: number) =>
    JSON.stringify({ source: `of ${loss}`, unit, position, at, values: { loss } });

  it('are those that each series ended with', async () => {
    const lines = [
      startLine(0),
      pointLine(1, 1, { loss: 0.9, start: 5 }),
      pointLine(2, 2, { loss: 0.5, diverged: 0.1 }),
      pointLine(3, 3, { accuracy: 0.7, diverged: null }),
    ];
    expect(await lastOf(attemptFile(1, lines))).toEqual({
      loss: 0.5,
      start: 5,
      accuracy: 0.7,
      diverged: null,
    });
  });

  it('are of the attempt that did them again', async () => {
    expect(
      await lastOf(
        attemptFile(1, [startLine(0), pointLine(10, 1, { loss: 0.9, warmup: 1 }), pointLine(30, 3)]),
        attemptFile(2, [startLine(9, { step: 15, savedAt: 1.5 }), pointLine(20, 10, { loss: 0.4 })]),
      ),
    ).toEqual({ loss: 0.4, warmup: 1 });
  });

  it('are not those of a lost attempt', async () => {
    expect(
      await lastOf(
        attemptFile(1, [startLine(0), pointLine(10, 1), pointLine(20, 2, { accuracy: 0.9 })]),
        attemptFile(2, [startLine(9, { step: 15, savedAt: 1.5 }), pointLine(16, 10, { loss: 0.4 })]),
      ),
    ).toEqual({ loss: 0.4 });
  });

  it.each([
    ['the furthest of one unit', line('step', 30, 1, 0.1), line('step', 20, 9, 0.2)],
    ['the later of two units', line('epoch', 3, 9, 0.1), line('step', 900, 1, 0.2)],
    ['the later at one position', line('step', 30, 9, 0.1), line('step', 30, 1, 0.2)],
  ])('of a name with several sources are %s', async (_, wanted, other) => {
    expect(await lastOf(attemptFile(1, [startLine(0), wanted, other]))).toEqual({ loss: 0.1 });
    expect(await lastOf(attemptFile(1, [startLine(0), other, wanted]))).toEqual({ loss: 0.1 });
  });
});
