/** Limits of `packing.hold`, over reports of real drops. */
import { describe, expect, it } from 'vitest';
import { compactAll, incoming, packedInDrops, runOf } from '../../../../test/support/builders/compaction.ts';
import { now, PIPELINE, packPipeline, settings } from '../../../../test/support/builders/packing.ts';
import { many, qualityKey, reportOf } from '../../../../test/support/builders/quality.ts';
import { planShards } from '../../plan/plan-shards.ts';
import { limitsPassed } from '../../quality/hold.ts';

const packing = settings();

describe('a limit of classShare', () => {
  const hold = { classShare: '20 %' };

  it('is not passed by the first version', async () => {
    const store = await packedInDrops([many('cat', 5)], packing);
    expect((await reportOf(store, 1, hold)).held).toEqual([]);
  });

  it('is passed by a class whose share jumps', async () => {
    const store = await packedInDrops(
      [{ ...many('cat', 5), ...many('dog', 5) }, many('dog', 20, 5)],
      packing,
    );
    expect((await reportOf(store, 2, hold)).held).toEqual([
      'class "cat" has 16.7 % of the samples and had 50 % (limit of the change: 20 points)',
      'class "dog" has 83.3 % of the samples and had 50 % (limit of the change: 20 points)',
    ]);
  });

  it('compares with the last version that was not held', async () => {
    const drops = [{ ...many('cat', 5), ...many('dog', 5) }, many('dog', 20, 5), many('dog', 1, 50)];
    const store = await packedInDrops(drops, packing);
    await reportOf(store, 2, hold);
    expect((await reportOf(store, 3, hold)).held).toHaveLength(2);
    store.seed(qualityKey(2, 'released.json'), '{}');
    expect((await reportOf(store, 3, hold)).held).toEqual([]);
  });

  it('still holds data that was joined', async () => {
    const drops = [{ ...many('cat', 5), ...many('dog', 5) }, many('dog', 20, 5)];
    const store = await packedInDrops(drops, packing);
    await reportOf(store, 2, hold);
    await compactAll(store, packing);
    await packedInDrops([many('dog', 1, 50)], packing, store, 3);
    expect((await reportOf(store, 3, hold)).held).toHaveLength(2);
    store.seed(qualityKey(2, 'released.json'), '{}');
    expect((await reportOf(store, 3, hold)).held).toEqual([]);
  });

  it('still holds data that came with a correction', async () => {
    const store = await packedInDrops([{ ...many('cat', 5), ...many('dog', 5) }], packing);
    const corrected = { ...many('dog', 20, 5), 'dog/1.txt': 'corrected' };
    for (const [key, body] of Object.entries(corrected)) store.seed(`${incoming}${key}`, body);
    const run = { runId: runOf(2), pipeline: PIPELINE, packing };
    await planShards({ store, now }, { ...run, onChange: 'replace' });
    await packPipeline(store, run);
    expect((await reportOf(store, 2, hold)).held).toHaveLength(2);
    await compactAll(store, packing);
    await packedInDrops([many('dog', 1, 50)], packing, store, 3);
    expect((await reportOf(store, 3, hold)).held).toHaveLength(2);
  });
});

describe('a limit of one run', () => {
  const hold = { conflictingLabels: '0 %', rejected: '10 %' };

  it('holds the data of its run in later runs', async () => {
    const drops = [
      { ...many('cat', 5), ...many('dog', 5) },
      { 'dog/9.txt': 'cat number 1\n' },
      many('dog', 2, 50),
      many('dog', 2, 60),
    ];
    const store = await packedInDrops(drops, packing);
    expect((await reportOf(store, 1, hold)).held).toEqual([]);
    const [own = ''] = (await reportOf(store, 2, hold)).held;
    const still = [`${runOf(2)} was held and not released: ${own}`];
    expect((await reportOf(store, 3, hold)).held).toEqual(still);
    expect((await reportOf(store, 4, hold)).held).toEqual(still);
    store.seed(qualityKey(2, 'released.json'), '{}');
    expect((await reportOf(store, 3, hold)).held).toEqual([]);
  });

  it('ends with the release of a later run', async () => {
    const drops = [many('cat', 5), { 'dog/9.txt': 'cat number 1\n' }, many('dog', 2, 50), many('dog', 2, 60)];
    const store = await packedInDrops(drops, packing);
    for (const batch of [1, 2, 3]) await reportOf(store, batch, hold);
    store.seed(qualityKey(3, 'released.json'), '{}');
    expect((await reportOf(store, 4, hold)).held).toEqual([]);
  });
});

describe('other limits', () => {
  it('are passed by equal bytes with different labels', async () => {
    const store = await packedInDrops([{ 'a/1.txt': 'same', 'b/2.txt': 'same', 'b/3.txt': 'own' }], packing);
    expect((await reportOf(store, 1, { conflictingLabels: '50 %' })).held).toEqual([
      '66.7 % of the samples have the bytes of another one with a different label (limit: 50 %)',
    ]);
    expect((await reportOf(store, 1, { conflictingLabels: '67 %' })).held).toEqual([]);
  });

  it('are passed by classes with a single sample', async () => {
    const store = await packedInDrops([{ ...many('cat', 3), ...many('dog', 1) }], packing);
    expect((await reportOf(store, 1, { singleSampleClasses: '10 %' })).held).toEqual([
      '50 % of the classes have a single sample (limit: 10 %)',
    ]);
    expect((await reportOf(store, 1, { singleSampleClasses: '50 %' })).held).toEqual([]);
  });

  it('are passed by one sample of ten thousand', () => {
    const measured = {
      classes: [],
      arrivals: { objects: 9_999, rejected: 3 },
      samples: 9_996,
      conflicting: 1,
    };
    expect(limitsPassed({ conflictingLabels: '0 %' }, measured)).toEqual([
      '0.01 % of the samples have the bytes of another one with a different label (limit: 0 %)',
    ]);
    expect(limitsPassed({ rejected: '0.03 %' }, measured)).toEqual([
      '0.030003 % of the arrivals were rejected (limit: 0.03 %)',
    ]);
  });

  it('are not passed by the share that they name', () => {
    const shares = { shareBefore: 0.1, shareNow: 0.3 };
    const row = { name: 'cat', packed: 2, copies: 0, before: 1, now: 3, ...shares };
    const arrivals = { objects: 10_000, rejected: 29 };
    const measured = { classes: [row], arrivals, samples: 10, conflicting: 0 };
    expect(limitsPassed({ classShare: '20 %', rejected: '0.29 %' }, measured)).toEqual([]);
  });
});
