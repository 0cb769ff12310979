/** Files of one sample in parallel folders, or with other ends of their names, joined by `packing.join`. */
import { packingSchema, type SplitSettings } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { current, incoming, linesIn, problems } from '../../../test/support/builders/compaction.ts';
import { DatasetWorld } from '../../../test/support/builders/dataset-world.ts';
import { sampleKey } from '../documents/sample-names.ts';

const join = { image: 'images/*', mask: 'masks/*_mask' };
const packing: Partial<PackingSettings> = { join, label: 'none', require: ['image', 'mask'] };

/** The names of the members of each sample of the newest version. */
async function samplesOf({ store }: DatasetWorld): Promise<string[]> {
  const all = new Map<string, string[]>();
  for (const manifest of await current(store))
    for (const { name, sample } of linesIn(store, manifest)) {
      const id = `${manifest.generation} ${sample}`;
      all.set(id, [...(all.get(id) ?? []), name]);
    }
  expect(await problems(store)).toEqual([]);
  return [...all.values()].map((names) => names.sort().join(' ')).sort();
}

const image = (name: string): string => `images/${name}.png`;
const mask = (name: string): string => `masks/${name}_mask.png`;
const pair = (name: string, version = ''): Record<string, string> => ({
  [image(name)]: `image ${name}${version}`,
  [mask(name)]: `mask ${name}${version}`,
});

describe('a key', () => {
  it.each([
    ['images/a.jpg', join, 'a', 'jpg'],
    ['masks/a_mask.png', join, 'a', 'mask.png'],
    ['masks/a.png', join, 'masks/a', 'png'],
    ['deep/images/x/a.jpg', join, 'deep/x/a', 'jpg'],
    ['myimages/a.jpg', join, 'myimages/a', 'jpg'],
    ['images/a.json', join, 'a', 'image.json'],
    ['a_mask.png', { mask: '*_mask' }, 'a', 'mask.png'],
    ['x/_mask.png', { mask: '*_mask' }, 'x/_mask', 'png'],
    ['tr/a_0000.nii.gz', { image: 'tr/*_0000', t2: 'tr/*_0001' }, 'a', 'image.nii.gz'],
    ['tr/a_0001.nii.gz', { image: 'tr/*_0000', t2: 'tr/*_0001' }, 'a', 't2.nii.gz'],
    ['labels/a.txt', { txt: 'labels/*' }, 'a', 'txt'],
    ['masks/a', { mask: 'masks/*' }, 'a', 'mask'],
  ])('%s is of its sample', (key, declared, stem, suffix) => {
    expect(sampleKey(key, { join: declared })).toEqual({ stem, suffix });
  });
});

describe('joined files', () => {
  it.each(['webdataset', 'mds', 'tfrecord', 'parquet'] as const)('are one sample of %s', async (format) => {
    const world = new DatasetWorld({ ...packing, format });
    world.put({ ...pair('a'), ...pair('train/b') });
    expect((await world.run()).samples).toBe(2);
    expect(await samplesOf(world)).toHaveLength(2);
  });

  it('wait for each other over drops', async () => {
    const world = new DatasetWorld(packing);
    world.store.now = world.now;
    world.put({ ...pair('a'), [image('b')]: 'early' });
    expect(await world.run()).toMatchObject({ samples: 1, left: { byReason: { incomplete: 1 } } });
    world.put({ [mask('b')]: 'late' });
    expect((await world.run()).samples).toBe(1);
    expect(await samplesOf(world)).toEqual(['a.mask.png a.png', 'b.mask.png b.png']);
  });

  it('are packed again together when one of them changes', async () => {
    const world = new DatasetWorld(packing);
    world.put({ ...pair('a'), ...pair('b'), ...pair('c') });
    await world.run();
    world.put({ [mask('b')]: 'corrected' });
    await world.run();
    expect(await samplesOf(world)).toEqual(['a.mask.png a.png', 'b.mask.png b.png', 'c.mask.png c.png']);
    const bodies = await world.held();
    expect(Object.keys(bodies)).toHaveLength(6);
    expect((await world.run()).samples).toBe(0);
  });

  it('leave the dataset together', async () => {
    const world = new DatasetWorld(packing);
    world.onDelete = 'retract';
    world.put({ ...pair('a'), ...pair('b') });
    await world.run();
    world.delete(image('a'));
    await world.run();
    expect(await samplesOf(world)).toEqual(['b.mask.png b.png']);
  });

  it('are the pairs that lie there, whatever the drops', async () => {
    const names = ['a', 'a1', 'b', 'x/a', 'x/b'];
    const step = fc.record({
      keys: fc.array(fc.constantFrom(...names.flatMap((name) => [image(name), mask(name)])), {
        minLength: 1,
      }),
      compacts: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (steps) => {
        const world = new DatasetWorld(packing);
        const there = new Set<string>();
        for (const [number, { keys, compacts }] of steps.entries()) {
          for (const key of keys) world.put({ [key]: `${key} of ${number}` });
          for (const key of keys) there.add(key);
          await world.run();
          if (compacts) await world.compact({ after: 2, everything: true });
          const whole = names.filter((name) => there.has(image(name)) && there.has(mask(name)));
          expect(Object.keys(await world.held()).sort()).toEqual(
            whole.flatMap((name) => [image(name), mask(name)]).sort(),
          );
          expect(await samplesOf(world)).toHaveLength(whole.length);
        }
      }),
      { numRuns: 15 },
    );
  });

  it('give no class, and no split of their folders', async () => {
    const split: SplitSettings = { by: 'folder', train: ['train'], validation: ['val'] };
    const world = new DatasetWorld({ join, split });
    world.put({ ...pair('train/cat/1'), ...pair('val/dog/2'), ...pair('train/3') });
    await world.run();
    const [manifest] = await current(world.store);
    expect(manifest?.labels).toEqual(['cat', 'dog']);
    expect(manifest?.splits?.map(({ name, samples }) => [name, samples])).toEqual([
      ['train', 2],
      ['validation', 1],
    ]);
  });

  it('cannot be declared otherwise under a dataset', async () => {
    const world = new DatasetWorld(packing);
    world.put(pair('a'));
    await world.run();
    world.packing = { ...world.packing, join: { mask: join.mask, image: join.image } };
    world.put(pair('0'));
    expect((await world.run()).samples).toBe(1);
    world.packing = { ...world.packing, join: undefined };
    world.put(pair('b'));
    await expect(world.run()).rejects.toThrow(
      /packing\.join is not declared, but digits-000001 was packed with/,
    );
  });
});

it.each([
  [{}, /name a column/],
  [{ mask: '*' }, /name a folder or an end of the name/],
  [{ mask: 'masks' }, /write a folder, \* and the end/],
  [{ mask: '/masks/*' }, /write a folder, \* and the end/],
  [{ Mask: 'masks/*' }, /name a column such as mask|Invalid key/],
])('a join of %j is refused', (declared, message) => {
  const read = packingSchema.safeParse({ join: declared });
  expect(JSON.stringify(read.error?.issues)).toMatch(message);
});

it('a join needs samples', () => {
  const read = packingSchema.safeParse({ join, format: 'lines' });
  expect(JSON.stringify(read.error?.issues)).toMatch(/joined as they are and have no columns/);
});

it('a label level counts classes alone', async () => {
  const world = new DatasetWorld({ labelLevel: 1 });
  world.put({ 'cat/camera-0/1.txt': 'a', 'cat/2.txt': 'b', 'dog/x/y/3.txt': 'c', '4.txt': 'd' });
  await world.run();
  const [manifest] = await current(world.store);
  expect(manifest?.labels).toEqual(['cat', 'dog']);
  world.packing = { ...world.packing, labelLevel: 2 };
  world.put({ [`${incoming.length}.txt`]: 'x' });
  await expect(world.run()).rejects.toThrow(/packing\.labelLevel is 2, but digits-000001 was packed with 1/);
});
