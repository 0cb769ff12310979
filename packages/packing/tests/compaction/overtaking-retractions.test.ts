/** A retraction that meets a run in progress holds for what the run has planned. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { OnChange } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import { seedBundle } from '../../../../test/support/builders/bundles.ts';
import { accounts, incoming, runOf } from '../../../../test/support/builders/compaction.ts';
import { DatasetWorld } from '../../../../test/support/builders/dataset-world.ts';
import { PIPELINE, SMALL } from '../../../../test/support/builders/packing.ts';
import { noteRetraction } from '../../arrivals/retractions.ts';
import { packCompaction } from '../../compaction/compact-shards.ts';
import { itemsOf, planCompaction, readCompactionPlan } from '../../compaction/plan-compaction.ts';
import { sealCompaction } from '../../compaction/seal-compaction.ts';

const BASE = { 'a/1.jpg': 'one', 'a/1.json': '1', 'a/2.jpg': 'two', 'b/3.jpg': 'three' };

async function based(): Promise<DatasetWorld> {
  const world = new DatasetWorld();
  world.put(BASE);
  await world.run();
  return world;
}

/** Plans and packs, and leaves the seal to later. */
async function packed(world: DatasetWorld): Promise<void> {
  await world.plan();
  await world.pack();
}

const fateOf = async ({ store }: DatasetWorld, key: string): Promise<string[]> =>
  (await accounts(store))
    .filter((line) => line.startsWith(`${incoming}${key} `))
    .map((line) => line.split(' ').at(-1) ?? '');

describe('a planned sample that is retracted', () => {
  it.each<OnChange>(['replace', 'keep'])('is in no version with onChange: %s', async (onChange) => {
    const world = await based();
    world.put({ 'a/4.jpg': 'four', 'a/4.json': '4', 'b/5.jpg': 'five' });
    world.onChange = onChange;
    await packed(world);
    expect((await world.retract('a/4.json')).status).toBe('nothingToCompact');
    expect(await world.seal()).toMatchObject({ status: 'sealed', samples: 2, waiting: 1 });
    expect(await world.keys()).not.toContain('a/4.jpg');
    await world.compact();
    expect(await world.keys()).toEqual(['a/1.jpg', 'a/1.json', 'a/2.jpg', 'b/3.jpg', 'b/5.jpg']);
    expect(await fateOf(world, 'a/4.jpg')).toEqual(['retracted']);
    world.put({ 'a/4.jpg': 'four' }, 'another');
    await world.run();
    expect(await world.keys()).not.toContain('a/4.jpg');
    world.put({ 'a/4.jpg': 'corrected', 'a/4.json': '5' });
    // As a change it waits for a compaction, and as a new object it does not.
    expect(await world.run()).toMatchObject({ waiting: onChange === 'keep' ? 0 : 1 });
    expect(await world.keys()).toContain('a/4.jpg');
  });

  it('is left out where the run has no other', async () => {
    const world = await based();
    world.put({ 'a/4.jpg': 'four' });
    await packed(world);
    await world.retract('a/4.jpg');
    await world.seal();
    await world.compact();
    expect(await world.keys()).toEqual(Object.keys(BASE));
  });

  it('is left out with the sample that it corrects', async () => {
    const world = await based();
    world.put({ 'a/1.json': 'corrected' });
    await packed(world);
    expect((await world.retract('a/1.json')).status).toBe('compacted');
    await world.seal();
    await world.compact();
    expect(await world.keys()).toEqual(['a/2.jpg', 'b/3.jpg']);
    expect(await fateOf(world, 'a/1.json')).toEqual(['retracted', 'retracted']);
  });

  it('takes its planned siblings along', async () => {
    const world = await based();
    world.delete('a/1.json');
    world.put({ 'a/1.txt': 'new', 'b/5.jpg': 'five' });
    await packed(world);
    await world.retract('a/1.json');
    await world.seal();
    await world.compact();
    expect(await world.keys()).not.toContain('a/1.jpg');
  });

  it('is left out as a member of a bundle', async () => {
    const world = await based();
    seedBundle(world.store, { 'a/4.jpg': 'four', 'b/5.jpg': 'five' });
    await packed(world);
    await world.retract('a/4.jpg');
    await world.seal();
    await world.compact();
    expect(await world.keys()).toEqual([...Object.keys(BASE), 'b/5.jpg']);
  });

  it('is left out where the retraction meets the seal', async () => {
    const world = await based();
    world.put({ 'a/4.jpg': 'four', 'b/5.jpg': 'five' });
    await packed(world);
    const { store } = world;
    const write = store.put.bind(store);
    const manifest = bucketKeys.manifest(PIPELINE, runOf(2));
    store.put = async (key, body, options) => {
      if (key === manifest) await noteRetraction(store, PIPELINE, [`${incoming}a/4.jpg`]);
      return write(key, body, options);
    };
    expect(await world.seal()).toMatchObject({ waiting: 1 });
    await world.compact();
    expect(await world.keys()).toEqual([...Object.keys(BASE), 'b/5.jpg']);
  });

  it('is left out of the first generation', async () => {
    const world = new DatasetWorld();
    world.put(BASE);
    await packed(world);
    await world.retract('a/1.jpg');
    await world.seal();
    await world.compact();
    expect(await world.keys()).toEqual(['a/2.jpg', 'b/3.jpg']);
  });
});

describe('a retraction', () => {
  it('wins over a compaction that was planned before it', async () => {
    const world = await based();
    world.put({ 'a/4.jpg': 'four' });
    await packed(world);
    await world.seal();
    const { store, packing } = world;
    const { generation } = await planCompaction(store, {
      pipeline: PIPELINE,
      packing,
      after: 2,
      everything: true,
      onChange: 'replace',
    });
    await world.retract('a/1.jpg');
    const planned = await readCompactionPlan(store, PIPELINE, generation);
    for (const item of itemsOf(planned))
      await packCompaction({ store, ...SMALL }, { pipeline: PIPELINE, packing, item });
    expect((await sealCompaction(store, { pipeline: PIPELINE, packing, generation })).status).toBe(
      'superseded',
    );
    expect(await world.keys()).toEqual(['a/2.jpg', 'a/4.jpg', 'b/3.jpg']);
  });

  it('asks nothing of a run without shards', async () => {
    const world = await based();
    world.put({ 'a/2.jpg': 'two' }, 'another');
    await packed(world);
    await world.retract('b/3.jpg');
    expect(await world.seal()).toMatchObject({ status: 'unchanged', shards: 0, waiting: 0 });
  });

  it('that was only noted spares later objects', async () => {
    const world = await based();
    await noteRetraction(world.store, PIPELINE, [`${incoming}a/1.jpg`, `${incoming}a/2.jpg`]);
    world.put({ 'a/2.jpg': 'corrected' });
    await world.run();
    expect(await world.keys()).toEqual(['a/2.jpg', 'b/3.jpg']);
    world.put({ 'b/6.jpg': 'six' });
    await world.run();
    await world.compact({ after: 2, everything: true });
    expect(await world.keys()).toEqual(['a/2.jpg', 'b/3.jpg', 'b/6.jpg']);
  });

  it('that was only noted outlasts a corrected sibling', async () => {
    const world = await based();
    await noteRetraction(world.store, PIPELINE, [`${incoming}a/1.jpg`]);
    world.put({ 'a/1.json': 'corrected', 'b/5.jpg': 'five' });
    await world.run();
    expect(await world.keys()).not.toContain('a/1.jpg');
  });

  it('that would leave no sample is not noted', async () => {
    const world = await based();
    await expect(world.retract(...Object.keys(BASE))).rejects.toThrow('no sample of the dataset');
    world.put({ 'b/6.jpg': 'six' });
    await world.run();
    expect(await world.keys()).toEqual([...Object.keys(BASE), 'b/6.jpg']);
  });
});
