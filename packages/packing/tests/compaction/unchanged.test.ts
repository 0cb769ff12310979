/** The same bytes under another ETag are no news. */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import { accounts, incoming, runOf } from '../../../../test/support/builders/compaction.ts';
import { DatasetWorld } from '../../../../test/support/builders/dataset-world.ts';
import { PIPELINE } from '../../../../test/support/builders/packing.ts';
import { blobVersions, newestVersion } from '../../documents/versions.ts';
import { deletePacked } from '../../seal/delete-packed.ts';
import { pruneGenerations } from '../../versions/prune-generations.ts';

const versionOf = async ({ store }: DatasetWorld) =>
  (await newestVersion(blobVersions(store), PIPELINE))?.number;
const clean = ({ store }: DatasetWorld, batch: number) =>
  deletePacked({ store, isTimeUp: () => false }, { pipeline: PIPELINE, runId: runOf(batch) });

const FORMATS: readonly Partial<PackingSettings>[] = [
  {},
  { format: 'tfrecord' },
  { format: 'mds' },
  { format: 'parquet' },
  { format: 'lines' },
  { remainder: 'even' },
];

describe('the same bytes under another ETag', () => {
  it.each(FORMATS)('change nothing with %o', async (packing) => {
    const world = new DatasetWorld(packing);
    world.put({ 'a/1.txt': 'one', 'a/2.txt': 'two', 'b/3.txt': 'three' });
    await world.run();
    const [before, version] = [await world.held(), await versionOf(world)];
    world.put({ 'a/1.txt': 'one', 'b/3.txt': 'three' }, 'other-2');
    expect(await world.run()).toMatchObject({ status: 'unchanged', unchanged: 2, rejected: 0 });
    expect([await world.held(), await versionOf(world)]).toEqual([before, version]);
    expect((await world.run()).shards).toBe(0);
    expect(await accounts(world.store)).toHaveLength(5);
  });

  it('are found beside corrections and new objects', async () => {
    const world = new DatasetWorld();
    world.put({ 'a/1.jpg': 'one', 'a/1.json': '{}', 'a/2.jpg': 'two' });
    await world.run();
    world.put({ 'a/1.jpg': 'one' }, 'other');
    world.put({ 'a/2.jpg': 'TWO', 'a/3.jpg': 'three' });
    expect(await world.run()).toMatchObject({ status: 'sealed', samples: 2, unchanged: 2 });
    expect(await world.keys()).toEqual(['a/1.jpg', 'a/1.json', 'a/2.jpg', 'a/3.jpg']);
  });

  it('of a large object are found too', async () => {
    const world = new DatasetWorld();
    const body = 'large '.repeat(2_000);
    world.put({ 'a/1.jpg': body, 'a/2.jpg': 'two' });
    await world.run();
    world.put({ 'a/1.jpg': body }, 'parts-3');
    expect(await world.run()).toMatchObject({ status: 'unchanged', unchanged: 1 });
  });

  it('come back after a correction as a change', async () => {
    const world = new DatasetWorld();
    world.put({ 'a/1.jpg': 'one', 'a/2.jpg': 'two' });
    await world.run();
    const first = await world.held();
    world.put({ 'a/1.jpg': 'one' }, 'other');
    await world.run();
    world.put({ 'a/1.jpg': 'ONE' });
    await world.run();
    expect(await world.held()).not.toEqual(first);
    world.put({ 'a/1.jpg': 'one' }, 'other');
    expect(await world.run()).toMatchObject({ status: 'sealed', samples: 1 });
    expect(await world.held()).toEqual(first);
  });

  it('let the rest of the sample be corrected', async () => {
    const world = new DatasetWorld();
    world.put({ 'a/1.jpg': 'one', 'a/1.json': '{}', 'a/2.jpg': 'two' });
    await world.run();
    world.put({ 'a/1.jpg': 'one' }, 'other');
    await world.run();
    world.put({ 'a/1.json': '{"right":true}' });
    expect(await world.run()).toMatchObject({ samples: 1, unchanged: 0 });
    expect(await world.keys()).toHaveLength(3);
  });

  it('are not packed again after a retraction', async () => {
    const world = new DatasetWorld();
    world.put({ 'a/1.jpg': 'one', 'a/2.jpg': 'two' });
    await world.run();
    world.put({ 'a/1.jpg': 'one' }, 'other');
    await world.run();
    await world.retract('a/1.jpg');
    expect((await world.run()).shards).toBe(0);
    expect(await world.keys()).toHaveLength(1);
  });

  it('stay retracted after they were packed once more', async () => {
    const world = new DatasetWorld();
    world.put({ 'a/1.json': '{}', 'a/1.jpg': 'one', 'a/2.jpg': 'two' });
    await world.run();
    world.put({ 'a/1.json': '{}' }, 'other');
    await world.run();
    // With its corrected image the sample is packed again, with the ETags of now.
    world.put({ 'a/1.jpg': 'ONE' });
    await world.run();
    await world.retract('a/1.json');
    world.put({ 'a/0.jpg': 'new' });
    expect(await world.run()).toMatchObject({ samples: 1 });
    expect(await world.keys()).toEqual(['a/0.jpg', 'a/2.jpg']);
  });

  it.each(FORMATS)('stay retracted with %o', async (packing) => {
    const world = new DatasetWorld(packing);
    world.put({ 'a/1.txt': 'one', 'a/2.txt': 'two', 'b/3.txt': 'three' });
    await world.run();
    await world.retract('a/1.txt');
    const before = await world.held();
    world.put({ 'a/1.txt': 'one' }, 'other-2');
    expect(await world.run()).toMatchObject({
      status: 'unchanged',
      rejections: { byReason: { retracted: 1 } },
    });
    expect(await world.held()).toEqual(before);
    // It was noted, so the next run has nothing to read.
    const again = await world.run();
    expect([again.rejected, again.samples]).toEqual([0, 0]);
    world.put({ 'a/1.txt': 'new' }, 'other-3');
    expect(await world.run()).toMatchObject({ samples: 1 });
  });

  it('stay retracted where the store copied them', async () => {
    const world = new DatasetWorld({ format: 'lines', shuffle: false });
    world.store.keptSum = 'crc32';
    const body = 'large\n'.repeat(2_000);
    world.put({ 'a/1.txt': body, 'a/2.txt': 'two' });
    await world.run();
    expect(world.store.copiedBytes).toBeGreaterThan(0);
    await world.retract('a/1.txt');
    world.put({ 'a/1.txt': body }, 'parts-3');
    expect(await world.run()).toMatchObject({ rejections: { byReason: { retracted: 1 } } });
  });

  it('stay retracted after further compactions', async () => {
    const world = new DatasetWorld();
    world.put({ 'a/1.jpg': 'one', 'a/1.json': '{}', 'a/2.jpg': 'two' });
    await world.run();
    await world.retract('a/1.jpg');
    world.put({ 'a/2.jpg': 'TWO' });
    await world.run();
    await pruneGenerations(world.store, {
      pipeline: PIPELINE,
      what: 'replaced',
      pin: () => Promise.resolve(undefined),
    });
    world.put({ 'a/1.jpg': 'one', 'a/1.json': '{"new":true}' }, 'other');
    await world.run();
    expect(await world.keys()).toEqual(['a/1.json', 'a/2.jpg']);
  });

  it('do not bring a retracted sample back', async () => {
    const world = new DatasetWorld();
    world.put({ 'a/1.jpg': 'one', 'a/1.json': '{}' });
    await world.run();
    world.put({ 'a/1.jpg': 'one' }, 'other');
    world.put({ 'b/2.jpg': 'two' });
    await world.run();
    await world.retract('a/1.jpg');
    world.put({ 'a/1.jpg': 'ONE' });
    await world.run();
    expect(await world.keys()).not.toContain('a/1.json');
  });

  it('are deleted as the packed object would be', async () => {
    const world = new DatasetWorld();
    world.put({ 'a/1.jpg': 'one', 'a/2.jpg': 'two' });
    await world.run();
    world.put({ 'a/1.jpg': 'one' }, 'other');
    await world.run();
    expect(await clean(world, 2)).toEqual({ status: 'done', deleted: 1 });
    expect(world.store.objects.has(`${incoming}a/1.jpg`)).toBe(false);
    expect(world.store.objects.has(`${incoming}a/2.jpg`)).toBe(true);
  });

  it('are deleted too where something else was packed', async () => {
    const world = new DatasetWorld();
    world.put({ 'a/1.jpg': 'one' });
    await world.run();
    world.put({ 'a/1.jpg': 'one' }, 'other');
    world.put({ 'a/2.jpg': 'two' });
    await world.run();
    await clean(world, 2);
    expect(world.store.keys(incoming)).toEqual([]);
  });
});
