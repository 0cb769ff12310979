/** A corrected row of annotations replaces the label of a packed sample, although its objects are the same. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { describe, expect, it } from 'vitest';
import { current, incoming, linesIn, problems } from '../../../../test/support/builders/compaction.ts';
import { DatasetWorld } from '../../../../test/support/builders/dataset-world.ts';
import { PIPELINE } from '../../../../test/support/builders/packing.ts';
import { compareContents, versionContents } from '../../versions/version-contents.ts';

const annotations = { file: 'labels.csv', key: 'key', label: 'label' };
const PACKING = { label: 'annotations', annotations } as const;

const annotate = (world: DatasetWorld, rows: Readonly<Record<string, string>>): void => {
  const text = Object.entries(rows).map(([key, label]) => `${key},${label}\n`);
  world.put({ 'labels.csv': `key,label\n${text.join('')}` });
};

/** @returns what was planned */
async function run(world: DatasetWorld) {
  const planned = await world.plan();
  if (planned.status === 'planned') await world.seal();
  await world.compact();
  return planned;
}

/** The label of each member of the newest version that packing made. */
async function labels({ store }: DatasetWorld): Promise<string[]> {
  const lines = (await current(store)).flatMap((manifest) => linesIn(store, manifest));
  return lines.flatMap(({ name, label, made }) => (made === undefined ? [] : [`${name} ${label}`])).sort();
}

async function packed(rows: Readonly<Record<string, string>>): Promise<DatasetWorld> {
  const world = new DatasetWorld(PACKING);
  for (const key of ['1.jpg', '1.json', '2.jpg', '3.jpg', '3.cls']) world.put({ [key]: key });
  annotate(world, rows);
  await run(world);
  return world;
}

describe('a corrected row of annotations', () => {
  it('replaces the label of its sample', async () => {
    const world = await packed({ '1': 'cat', '2': 'dog', '3': 'cow' });
    annotate(world, { '1': 'cat', '2': 'cow', '3': 'dog' });
    expect(await run(world)).toMatchObject({ status: 'planned', objects: 1 });
    expect(await labels(world)).toEqual(['1.cls cat', '2.cls cow']);
    expect(await problems(world.store)).toEqual([]);
    expect(await run(world)).toMatchObject({ status: 'nothingNew' });
    annotate(world, { '1.json': 'dog', '2': 'dog', '3': 'cat' });
    expect(await run(world)).toMatchObject({ status: 'planned', objects: 3 });
    expect(await labels(world)).toEqual(['1.cls dog', '2.cls dog']);
  });

  it('shows all objects of its sample as replaced', async () => {
    const world = await packed({ '1': 'cat', '2': 'dog', '3': 'cow' });
    const held = async () =>
      versionContents(world.store, PIPELINE, {
        generations: (await current(world.store)).map(({ generation }) => generation),
      });
    const before = await held();
    annotate(world, { '1': 'cow', '2': 'dog', '3': 'dog' });
    await run(world);
    const replaced = [`${incoming}1.jpg`, `${incoming}1.json`];
    expect(compareContents(before, await held())).toEqual({ added: [], replaced, retracted: [] });
  });

  it('is applied once while its compaction waits', async () => {
    const world = await packed({ '1': 'cat', '2': 'dog' });
    annotate(world, { '1': 'cat', '2': 'cow' });
    await world.plan();
    await world.seal();
    expect(await run(world)).toMatchObject({ status: 'nothingNew' });
    expect(await labels(world)).toEqual(['1.cls cat', '2.cls cow']);
  });

  it('is read from another column once that is declared', async () => {
    const world = new DatasetWorld(PACKING);
    for (const key of ['1.jpg', '2.jpg', '3.jpg']) world.put({ [key]: key });
    world.put({ 'labels.csv': 'key,label,kind\n1,cat,pet\n2,dog,dog\n3,,wild\n' });
    await run(world);
    expect(await labels(world)).toEqual(['1.cls cat', '2.cls dog']);
    world.packing = { ...world.packing, annotations: { ...annotations, label: 'kind' } };
    expect(await run(world)).toMatchObject({ status: 'planned', objects: 2 });
    expect(await labels(world)).toEqual(['1.cls pet', '2.cls dog', '3.cls wild']);
    expect(await run(world)).toMatchObject({ status: 'nothingNew' });
  });

  it('is applied once its whole sample is back', async () => {
    const world = await packed({ '1': 'cat', '2': 'dog' });
    world.delete('1.json');
    annotate(world, { '1': 'cow', '2': 'dog' });
    await run(world);
    expect(await labels(world)).toEqual(['1.cls cat', '2.cls dog']);
    expect(await run(world)).toMatchObject({ status: 'nothingNew' });
    world.put({ '1.json': '1.json' });
    await run(world);
    expect(await labels(world)).toEqual(['1.cls cow', '2.cls dog']);
    expect(await problems(world.store)).toEqual([]);
    expect(await run(world)).toMatchObject({ status: 'nothingNew' });
  });

  it('is looked for once, while file and data stay', async () => {
    const world = await packed({ '1': 'cat', '2': 'dog' });
    world.delete('1.json');
    annotate(world, { '1': 'cow', '2': 'cow' });
    await run(world);
    await run(world);
    const { store } = world;
    const read: string[] = [];
    const get = store.get.bind(store);
    store.get = (key, ...rest) => {
      read.push(key);
      return get(key, ...rest);
    };
    const lists = () => read.filter((key) => key.includes('/members/'));
    expect(await run(world)).toMatchObject({ status: 'nothingNew' });
    expect(lists()).toEqual([]);
    world.put({ '2.txt': 'more' });
    await world.plan();
    expect(lists()).toEqual([]);
    store.seed(bucketKeys.comparedLabels(PIPELINE), 'not ours');
    await world.plan();
    expect(lists()).not.toEqual([]);
    world.put({ '1.json': '1.json' });
    await run(world);
    expect(await labels(world)).toEqual(['1.cls cow', '2.cls cow']);
  });

  it('leaves the label where it gives none', async () => {
    const world = await packed({ '1': 'cat', '2': 'dog' });
    annotate(world, { '1.jpg': 'cat', '1.json': 'cow' });
    expect(await run(world)).toMatchObject({ status: 'nothingNew' });
    expect(await labels(world)).toEqual(['1.cls cat', '2.cls dog']);
  });

  it('needs the objects, and replaces nothing with keep', async () => {
    const world = await packed({ '1': 'cat', '2': 'dog' });
    world.delete('2.jpg');
    annotate(world, { '1': 'cow', '2': 'cow' });
    world.onChange = 'keep';
    expect(await run(world)).toMatchObject({ status: 'nothingNew' });
    world.onChange = 'replace';
    await run(world);
    expect(await labels(world)).toEqual(['1.cls cow', '2.cls dog']);
    expect(await run(world)).toMatchObject({ status: 'nothingNew' });
  });
});
