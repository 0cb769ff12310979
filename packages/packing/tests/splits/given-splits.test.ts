/** A split that the data has: by folders, or by lists under incoming/. */
import { packingSchema, type SplitSettings } from '@tidewheel/declaration/packing-settings.ts';
import { describe, expect, it } from 'vitest';
import { current, incoming, linesIn, problems } from '../../../../test/support/builders/compaction.ts';
import { DatasetWorld } from '../../../../test/support/builders/dataset-world.ts';
import { splitOfShard } from '../../splits/split-rule.ts';
import { verifyGeneration } from '../../verify/verify.ts';

const byFolder: SplitSettings = { by: 'folder', train: ['train'], validation: ['val', 'dev'] };
const byList: SplitSettings = { by: 'list', train: ['train.txt'], validation: ['lists/val.txt'] };

/** The split of each key of the newest version, and what is wrong with it. */
async function splitsOf({ store }: DatasetWorld): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const manifest of await current(store))
    for (const shard of manifest.shards)
      for (const { key } of linesIn(store, { ...manifest, shards: [shard] }))
        if (key !== undefined) found[key.slice(incoming.length)] = splitOfShard(shard.name) ?? 'none';
  expect(await problems(store)).toEqual([]);
  return found;
}

describe('a split by folders', () => {
  it('stays over drops and compactions', async () => {
    const world = new DatasetWorld({ split: byFolder });
    world.put({ 'train/cat/1.txt': 'a', 'val/cat/1.txt': 'b', 'deep/dev/cat/1.txt': 'c' });
    await world.run();
    world.put({ 'train/cat/1.txt': 'new', 'val/dog/2.txt': 'd' });
    await world.run();
    await world.compact({ after: 2, everything: true });
    expect(await splitsOf(world)).toEqual({
      'train/cat/1.txt': 'train',
      'val/cat/1.txt': 'validation',
      'deep/dev/cat/1.txt': 'validation',
      'val/dog/2.txt': 'validation',
    });
  });

  it('goes by the outermost named folder', async () => {
    const world = new DatasetWorld({ split: byFolder });
    world.put({ 'train/val/1.txt': 'a', 'val/train/1.txt': 'b', 'training/val2/dev/1.txt': 'c' });
    await world.run();
    expect(await splitsOf(world)).toEqual({
      'train/val/1.txt': 'train',
      'val/train/1.txt': 'validation',
      'training/val2/dev/1.txt': 'validation',
    });
  });

  it('may be named by any joined folder', async () => {
    const join = { image: 'train/*', mask: 'a_masks/*' };
    const world = new DatasetWorld({ split: byFolder, join, label: 'none' });
    world.put({ 'a_masks/1.png': 'mask', 'train/1.png': 'image', 'val/2.png': 'other' });
    expect((await world.run()).samples).toBe(2);
    expect(await splitsOf(world)).toEqual({
      'a_masks/1.png': 'train',
      'train/1.png': 'train',
      'val/2.png': 'validation',
    });
  });

  it('leaves what is in none of them, with an example', async () => {
    const world = new DatasetWorld({ split: byFolder });
    world.put({ 'train/1.txt': 'a', 'other/2.txt': 'b' });
    const { left, samples } = await world.run();
    expect(samples).toBe(1);
    expect(left).toMatchObject({
      byReason: { groupMissing: 1 },
      examples: [{ key: `${incoming}other/2.txt`, reason: 'groupMissing' }],
    });
  });

  it('is compared with the folders of shards', async () => {
    const world = new DatasetWorld({ split: byFolder });
    world.put({ 'train/1.txt': 'a', 'val/1.txt': 'b' });
    await world.run();
    const [manifest] = await current(world.store);
    if (manifest === undefined) throw new Error('nothing sealed');
    const changed = { ...manifest, split: { ...byFolder, train: ['val'], validation: ['train'] } };
    const found = (await verifyGeneration(world.store, changed)).problems.join('\n');
    expect(found).toMatch(/train\/1\.txt" is in train\/shard-000000\.tar, but belongs to validation/);
  });

  it('cannot change under a dataset', async () => {
    const world = new DatasetWorld({ split: byFolder });
    world.put({ 'train/1.txt': 'a' });
    await world.run();
    world.packing = { ...world.packing, split: { ...byFolder, train: ['training'] } };
    world.put({ 'train/2.txt': 'b' });
    await expect(world.run()).rejects.toThrow(/packing\.split is .*"training".* was packed with .*"train"/);
  });
});

describe('a split by lists', () => {
  it('takes names with and without folder and suffix', async () => {
    const world = new DatasetWorld({ split: byList });
    const train = ['images/a.txt', './images/b.txt 1', '/data/other/c.txt', 'd', '# e', ''];
    world.put({ 'train.txt': train.join('\r\n'), 'lists/val.txt': '\uFEFFimages/e,0\n' });
    for (const name of 'abcde') world.put({ [`images/${name}.txt`]: name });
    await world.run();
    expect(await splitsOf(world)).toEqual({
      'images/a.txt': 'train',
      'images/b.txt': 'train',
      'images/c.txt': 'train',
      'images/d.txt': 'train',
      'images/e.txt': 'validation',
    });
  });

  it('tells samples of one name by their folders', async () => {
    const world = new DatasetWorld({ split: byList });
    world.put({ 'train.txt': 'yes/1\nno/2.txt\n', 'lists/val.txt': 'data/no/1.txt\n', 'other/2.txt': 'z' });
    world.put({ 'yes/1.txt': 'a', 'no/1.txt': 'b', 'no/2.txt': 'c', 'yes/2.txt': 'd' });
    expect((await world.run()).left.byReason).toEqual({ groupMissing: 2 });
    expect(await splitsOf(world)).toEqual({
      'yes/1.txt': 'train',
      'no/1.txt': 'validation',
      'no/2.txt': 'train',
    });
  });

  it('trains all that no list names, once all lists are there', async () => {
    const split = { by: 'list' as const, validation: ['val.txt'], test: ['test.txt'] };
    const world = new DatasetWorld({ split });
    world.put({ 'val.txt': 'b\nc\n', 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c' });
    expect((await world.run()).left.byReason).toEqual({ groupMissing: 1 });
    world.put({ 'test.txt': 'c\n' });
    expect((await world.run()).samples).toBe(1);
    expect(await splitsOf(world)).toEqual({ 'a.txt': 'train', 'b.txt': 'validation', 'c.txt': 'validation' });
  });

  it('leaves a sample that two splits list', async () => {
    const world = new DatasetWorld({ split: byList });
    world.put({ 'train.txt': 'a\nb', 'lists/val.txt': 'b\nc', 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c' });
    const { left } = await world.run();
    expect(left.examples).toMatchObject([{ key: `${incoming}b.txt`, reason: 'groupMissing' }]);
    expect(await splitsOf(world)).toEqual({ 'a.txt': 'train', 'c.txt': 'validation' });
  });

  it('packs what a later list names', async () => {
    const world = new DatasetWorld({ split: byList });
    world.put({ 'a.txt': 'a', 'b.txt': 'b' });
    expect((await world.run()).left.byReason).toEqual({ groupMissing: 2 });
    world.put({ 'train.txt': 'a\n', 'lists/val.txt': 'b\n' });
    await world.run();
    expect(await splitsOf(world)).toEqual({ 'a.txt': 'train', 'b.txt': 'validation' });
    world.put({ 'train.txt': 'b\n', 'lists/val.txt': 'a\n' });
    expect((await world.run()).samples).toBe(0);
    expect(await splitsOf(world)).toEqual({ 'a.txt': 'train', 'b.txt': 'validation' });
  });

  it('has lists of at most 64 MB', async () => {
    const world = new DatasetWorld({ split: byList });
    world.put({ 'train.txt': Buffer.alloc(64e6 + 1), 'a.txt': 'a' });
    await expect(world.run()).rejects.toThrow(
      'packing.split.train names "train.txt", which has more than 64 MB: divide the samples among folders, and write by: folder',
    );
  });
});

describe('a declaration of a given split', () => {
  it.each([
    [{ by: 'folder', train: 0.9, validation: 0.1 }, /by: folder takes names, not shares/],
    [{ train: ['train'], validation: ['val'] }, /names need by: folder or by: list/],
    [{ by: 'folder', train: ['a'], validation: ['a'] }, /a name stands twice/],
    [{ by: 'folder', train: ['a'] }, /name a second part beside train/],
    [{ by: 'folder', validation: ['a'] }, /is missing: write a share or names/],
    [{ by: 'list', train: ['a'] }, /name a second part beside train/],
    [{ by: 'list', train: ['/a.txt'], validation: ['b.txt'] }, /leave out slashes|write a share/],
    [{ by: 'folder', train: 'train', validation: ['b'] }, /write a share between 0 and 1, or names/],
  ])('%j is refused', (split, message) => {
    const read = packingSchema.safeParse({ split });
    expect(read.error?.issues.map((issue) => issue.message).join('; ')).toMatch(message);
  });
});
