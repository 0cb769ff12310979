/** `dataset.onDelete: retract`: what its owner deletes from incoming/ leaves the next version. */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import { datasetOf } from '../../../../functions/records/run-dataset.ts';
import { seedBundle } from '../../../../test/support/builders/bundles.ts';
import { accounts, current, incoming, runOf } from '../../../../test/support/builders/compaction.ts';
import { controlView } from '../../../../test/support/builders/control-view.ts';
import { DatasetWorld } from '../../../../test/support/builders/dataset-world.ts';
import { PIPELINE } from '../../../../test/support/builders/packing.ts';
import { declarationOf, runOf as recordOf } from '../../../../test/support/builders/records.ts';
import { mayCompact } from '../../compaction/plan-compaction.ts';
import { deletePacked } from '../../seal/delete-packed.ts';

/** Where deletions count. */
function retracting(changes: Partial<PackingSettings> = {}): DatasetWorld {
  const world = new DatasetWorld(changes);
  world.onDelete = 'retract';
  return world;
}

const clean = ({ store }: DatasetWorld, batch: number) =>
  deletePacked({ store, isTimeUp: () => false }, { pipeline: PIPELINE, runId: runOf(batch) });

describe('a deleted object', () => {
  it('leaves the next version, and no shard holds it', async () => {
    const world = retracting();
    world.put({ 'a/1.jpg': 'one', 'a/2.jpg': 'two', 'b/3.jpg': 'three' });
    await world.run();
    world.delete('a/1.jpg');
    expect(await world.plan()).toMatchObject({ status: 'planned', items: 0, objects: 1 });
    const sealed = await world.seal();
    expect(sealed).toMatchObject({ status: 'sealed', shards: 0, removed: 1, rejected: 0, waiting: 1 });
    expect(mayCompact(undefined, sealed)).toBe(true);
    expect(await world.compact()).toMatchObject({ status: 'compacted', samples: 2 });
    expect(await world.keys()).toEqual(['a/2.jpg', 'b/3.jpg']);
    expect(await accounts(world.store)).toContainEqual(expect.stringMatching(/a\/1\.jpg .* removed$/));
    expect(await world.plan()).toMatchObject({ status: 'nothingNew', waiting: false });
  });

  it('stays in the dataset where deletions do not count', async () => {
    const world = retracting();
    world.onDelete = 'keep';
    world.put({ 'a/1.jpg': 'one', 'a/2.jpg': 'two' });
    await world.run();
    world.delete('a/1.jpg');
    await world.run();
    expect(await world.keys()).toEqual(['a/1.jpg', 'a/2.jpg']);
    world.onDelete = 'retract';
    await world.run();
    expect(await world.keys()).toEqual(['a/2.jpg']);
  });

  it('leaves together with what is new', async () => {
    const world = retracting();
    world.put({ 'a/1.jpg': 'one', 'a/2.jpg': 'two' });
    await world.run();
    world.delete('a/1.jpg');
    world.put({ 'a/2.jpg': 'TWO', 'a/3.jpg': 'three' });
    expect(await world.run()).toMatchObject({ samples: 2, removed: 1 });
    expect(await world.keys()).toEqual(['a/2.jpg', 'a/3.jpg']);
  });

  it('is packed again when it comes again', async () => {
    const world = retracting();
    world.put({ 'a/1.jpg': 'one', 'a/2.jpg': 'two' });
    await world.run();
    world.delete('a/1.jpg');
    await world.run();
    world.put({ 'a/1.jpg': 'one' });
    expect(await world.run()).toMatchObject({ samples: 1, waiting: 0 });
    expect(await world.keys()).toEqual(['a/1.jpg', 'a/2.jpg']);
  });

  it('may come again before the compaction', async () => {
    const world = retracting();
    world.put({ 'a/1.jpg': 'one', 'a/2.jpg': 'two' });
    await world.run();
    world.delete('a/1.jpg');
    await world.plan();
    await world.seal();
    world.put({ 'a/1.jpg': 'one' });
    await world.run();
    expect(await world.keys()).toEqual(['a/1.jpg', 'a/2.jpg']);
  });

  it('is found although only notified ranges are listed', async () => {
    const world = retracting();
    world.put({ 'a/1.jpg': 'one', 'a/2.jpg': 'two', 'b/3.jpg': 'three' });
    await world.run();
    world.delete('a/1.jpg');
    expect(await world.plan('2020-01-01T00:00:00Z')).toMatchObject({ objects: 1 });
  });

  it('of a file of lines leaves too', async () => {
    const world = retracting({ format: 'lines' });
    world.put({ '1.txt': 'one\n', '2.txt': 'two\n' });
    await world.run();
    world.delete('1.txt');
    await world.run();
    expect(await world.keys()).toEqual(['2.txt']);
  });

  it('leaves a split without moving another sample', async () => {
    const world = retracting({ split: { train: 0.5, validation: 0.5, by: 'key' } });
    const keys = Array.from({ length: 12 }, (_, number) => `a/${number + 10}.jpg`);
    world.put(Object.fromEntries(keys.map((key) => [key, key])));
    await world.run();
    world.delete('a/10.jpg', 'a/15.jpg');
    await world.run();
    expect(await world.keys()).toEqual(keys.filter((key) => !['a/10.jpg', 'a/15.jpg'].includes(key)));
  });
});

describe('the rest of a sample', () => {
  it('is packed as a sample of its own', async () => {
    const world = retracting();
    world.put({ 'a/1.jpg': 'one', 'a/1.json': '{}', 'a/2.jpg': 'two' });
    await world.run();
    world.delete('a/1.json');
    await world.run();
    expect(await world.keys()).toEqual(['a/1.jpg', 'a/2.jpg']);
    world.put({ 'a/1.json': '{"new":true}' });
    await world.run();
    expect(await world.keys()).toEqual(['a/1.jpg', 'a/1.json', 'a/2.jpg']);
  });

  it('waits where it lacks what is required', async () => {
    const world = retracting({ require: ['image', 'json'], waitHours: 1e5 });
    world.put({ 'a/1.jpg': 'one', 'a/1.json': '{}', 'a/2.jpg': 'two', 'a/2.json': '{}' });
    await world.run();
    world.delete('a/1.json');
    expect(await world.run()).toMatchObject({ left: { objects: 1, byReason: { incomplete: 1 } } });
    expect(await world.keys()).toEqual(['a/2.jpg', 'a/2.json']);
  });

  it('waits where it is a sidecar alone', async () => {
    const world = retracting();
    world.put({ 'a/1.jpg': 'one', 'a/1.json': '{}', 'a/2.jpg': 'two', 'a/3.jpg': 'three' });
    await world.run();
    world.delete('a/1.jpg');
    await world.run();
    expect(await world.keys()).toEqual(['a/2.jpg', 'a/3.jpg']);
  });

  it('may have been rejected as an incomplete correction', async () => {
    const world = retracting();
    world.onDelete = 'keep';
    world.put({ 'a/1.jpg': 'one', 'a/1.json': '{}', 'a/2.jpg': 'two' });
    await world.run();
    world.delete('a/1.json');
    world.put({ 'a/1.jpg': 'ONE' });
    await world.run();
    expect(await accounts(world.store)).toContainEqual(expect.stringMatching(/correctionIncomplete$/));
    world.onDelete = 'retract';
    await world.run();
    expect(await world.keys()).toEqual(['a/1.jpg', 'a/2.jpg']);
  });
});

describe('a deletion of everything', () => {
  it('leaves the dataset as it is, and says so', async () => {
    const world = retracting();
    world.put({ 'a/1.jpg': 'one' });
    await world.run();
    world.delete('a/1.jpg');
    await world.plan();
    await world.seal();
    await expect(world.compact()).rejects.toThrow('no sample of the dataset would be left');
    const run = recordOf(PIPELINE, 2, { declaration: declarationOf(PIPELINE) });
    await expect(datasetOf(controlView(world.store), run)).rejects.toThrow('replaces or removes samples');
    expect(await world.keys()).toEqual(['a/1.jpg']);
    world.put({ 'a/2.jpg': 'two' });
    await world.run();
    expect(await world.keys()).toEqual(['a/2.jpg']);
  });
});

describe('what the service has deleted', () => {
  it('was not deleted by its owner', async () => {
    const world = retracting();
    world.put({ 'a/1.jpg': 'one', 'a/2.jpg': 'two' });
    await world.run();
    await clean(world, 1);
    expect(await world.plan()).toMatchObject({ status: 'nothingNew' });
  });

  it('stays when its generation has been joined', async () => {
    const world = retracting();
    world.put({ 'a/1.jpg': 'one', 'a/2.jpg': 'two' });
    await world.run();
    await clean(world, 1);
    world.put({ 'a/1.jpg': 'ONE', 'a/3.jpg': 'three' });
    await world.run();
    expect((await current(world.store)).map(({ compacted }) => compacted?.of.length)).toEqual([2]);
    world.delete('a/1.jpg');
    await world.run();
    expect(await world.keys()).toEqual(['a/2.jpg', 'a/3.jpg']);
  });

  it('stays when a later run deleted its bundle', async () => {
    const world = retracting();
    seedBundle(world.store, { 'a/1.jpg': 'one', 'a/2.jpg': 'two' });
    await world.run();
    world.put({ 'a/3.jpg': 'three' });
    await world.run();
    await clean(world, 2);
    expect(world.store.keys(incoming)).toEqual([]);
    expect(await world.plan()).toMatchObject({ status: 'nothingNew' });
  });

  it('is known before its first object is deleted', async () => {
    const world = retracting();
    world.put({ 'a/1.jpg': 'one', 'a/2.jpg': 'two' });
    await world.run();
    const destroy = world.store.delete.bind(world.store);
    world.store.delete = async (key, etag) => {
      await destroy(key, etag);
      throw new Error('the function dies');
    };
    await expect(clean(world, 1)).rejects.toThrow('the function dies');
    expect(await world.plan()).toMatchObject({ status: 'nothingNew' });
  });
});
