/** Histories that `npm run test:histories` does not draw. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import { seedBundle } from '../../../test/support/builders/bundles.ts';
import { current, incoming, linesIn, problems, runOf } from '../../../test/support/builders/compaction.ts';
import { DatasetWorld } from '../../../test/support/builders/dataset-world.ts';
import { PIPELINE } from '../../../test/support/builders/packing.ts';
import { makeBundle } from '../arrivals/bundle-index.ts';
import { bundleKeys } from '../arrivals/bundle-place.ts';
import { deletePacked } from '../seal/delete-packed.ts';
import { pruneGenerations } from '../versions/prune-generations.ts';
import { giveUpGeneration } from '../versions/repair-generation.ts';

class World extends DatasetWorld {
  hour = 10;
  override rangeObjects = undefined;

  constructor(changes: Partial<PackingSettings> = {}) {
    super({ require: ['image', 'json'], ...changes });
    this.now = () => new Date(Date.UTC(2026, 0, 1, this.hour));
    this.store.now = this.now;
  }

  drop(stem: string, body: string, suffixes: readonly string[] = ['jpg', 'json']): void {
    for (const suffix of suffixes) this.put({ [`${stem}.${suffix}`]: `"${body}"` });
  }

  override async seal() {
    const sealed = await super.seal();
    this.store.seed(bucketKeys.report(PIPELINE, runOf(this.batch)), '{}');
    return sealed;
  }

  override compact(changes: Parameters<DatasetWorld['compact']>[0] = {}) {
    return super.compact({ after: 2, ...changes });
  }

  /** The first run packs the sample. Then its image goes, and its JSON changes. */
  async correctWithoutImage(stem: string): Promise<void> {
    this.drop(stem, '1');
    await this.run();
    this.hour = 11;
    this.delete(`${stem}.jpg`);
    this.drop(stem, '22', ['json']);
  }

  /** As `whenDone: delete` does. */
  clean(batch: number): Promise<unknown> {
    const run = { pipeline: PIPELINE, runId: runOf(batch) };
    return deletePacked({ store: this.store, isTimeUp: () => false }, run);
  }

  prune(): Promise<unknown> {
    const request = { pipeline: PIPELINE, what: 'replaced', pin: () => Promise.resolve(undefined) } as const;
    return pruneGenerations(this.store, request);
  }

  /** The newest joined generation of the newest version. */
  async giveUp(loses: 'manifest' | 'nothing'): Promise<unknown> {
    const joined = (await current(this.store)).findLast(({ compacted }) => compacted !== undefined);
    const generation = joined?.generation ?? '';
    if (loses === 'manifest') this.store.objects.delete(bucketKeys.manifest(PIPELINE, generation));
    const request = { pipeline: PIPELINE, generation, pin: () => Promise.resolve(undefined) };
    return giveUpGeneration(this.store, request);
  }

  /** Characters of the body of each sample's image, in the newest version. */
  async images(): Promise<Record<string, number>> {
    const wrong = await problems(this.store);
    const images: Record<string, number> = {};
    for (const manifest of await current(this.store))
      for (const { key = '', size } of linesIn(this.store, manifest)) {
        if (!key.endsWith('.jpg')) continue;
        const stem = key.slice(incoming.length, -4);
        if (images[stem] !== undefined) wrong.push(`${stem} is there twice`);
        images[stem] = size - 2;
      }
    if (wrong.length > 0) throw new Error(wrong.join('; '));
    return images;
  }
}

describe('the newest version', () => {
  it('holds corrections made after the clock went back', async () => {
    const world = new World();
    world.drop('a/1', '1');
    await world.run();
    world.hour = 2;
    world.drop('a/1', '22');
    world.drop('a/2', '333');
    await world.run();
    expect(await world.images()).toEqual({ 'a/1': 2, 'a/2': 3 });
  });

  it('takes a correction beside a file that returned', async () => {
    const world = new World({ require: [] });
    await world.correctWithoutImage('a/1');
    await world.run();
    world.hour = 12;
    seedBundle(world.store, { 'a/1.json': '"1"' });
    world.hour = 13;
    await world.run();
    world.hour = 14;
    world.drop('a/1', '4444', ['jpg']);
    await world.run();
    expect(await world.images()).toEqual({ 'a/1': 4 });
  });

  it('stays when an older retraction is joined later', async () => {
    const world = new World();
    for (const stem of ['a/1', 'b/1']) world.drop(stem, '1');
    await world.run();
    await world.retract('a/1.jpg', 'a/1.json');
    world.hour = 11;
    // Too large to be joined with the others.
    world.drop('a/1', '2'.repeat(30_000));
    await world.run();
    world.hour = 12;
    world.drop('b/2', '1');
    await world.run();
    expect((await current(world.store)).map(({ shards }) => shards.length)).toEqual([1, 1]);
    world.hour = 13;
    // With news, the whole range of keys is looked up.
    world.drop('a/2', '1');
    expect(await world.plan()).toMatchObject({ status: 'planned', objects: 2 });
  });

  it('takes a restored older version for a change', async () => {
    const world = new World();
    world.drop('a/1', '1');
    await world.run();
    world.hour = 12;
    world.drop('a/1', '22');
    await world.run();
    // Deleting the newest version of a versioned object shows the one before, with the time of that one.
    world.hour = 10;
    world.drop('a/1', '1');
    world.hour = 14;
    await world.run();
    expect(await world.images()).toEqual({ 'a/1': 1 });
  });

  it('outlives two seals beside a compaction and a prune', async () => {
    const world = new World();
    for (const batch of [1, 2]) {
      world.drop(`a/${batch}`, '1');
      await world.plan();
      await world.seal();
    }
    world.drop('a/3', '333');
    world.drop('a/1', '22');
    await world.plan();
    await world.pack();
    world.drop('a/4', '4444');
    await Promise.all([world.seal(), world.seal(), world.compact().then(() => world.prune())]);
    await world.compact();
    await world.prune();
    expect(await world.images()).toEqual({ 'a/1': 2, 'a/2': 1, 'a/3': 3 });
    await world.run();
    expect(await world.images()).toEqual({ 'a/1': 2, 'a/2': 1, 'a/3': 3, 'a/4': 4 });
  });

  it('holds the files of a bundle that ended late', async () => {
    const world = new World();
    const body = (text: string) => Buffer.from(`"${text}"`);
    const files = ['a/1.jpg', 'a/1.json', 'a/2.jpg', 'a/2.json'];
    const made = makeBundle(files.map((key) => ({ key, body: body('1') })));
    const keys = bundleKeys(PIPELINE, made.id);
    world.store.seed(keys.data, made.data);
    world.drop('a/1', '22');
    await world.run();
    expect(await world.images()).toEqual({ 'a/1': 2 });
    // The index dates the bundle, so its files are newer.
    world.hour = 12;
    world.store.seed(keys.index, made.index);
    await world.run();
    expect(await world.images()).toEqual({ 'a/1': 1, 'a/2': 1 });
  });

  it('gets a correction whose label comes later', async () => {
    const annotations = { file: 'labels.csv', key: 'key', label: 'label' };
    const world = new World({ label: 'annotations', annotations });
    const annotate = (...stems: readonly string[]) =>
      world.store.seed(
        `${incoming}labels.csv`,
        ['key,label', ...stems.map((one) => `${one},cat`)].join('\n'),
      );
    annotate('a/1', 'a/2');
    world.drop('a/1', '1');
    await world.run();
    await world.clean(1);
    world.hour = 11;
    annotate('a/2');
    const { data, index } = seedBundle(world.store, { 'a/1.jpg': '"22"', 'a/1.json': '"22"' });
    world.hour = 12;
    await world.run();
    await world.clean(2);
    expect(world.store.objects.has(data) && world.store.objects.has(index)).toBe(true);
    world.hour = 13;
    annotate('a/1');
    await world.run();
    expect(await world.images()).toEqual({ 'a/1': 2 });
  });

  it('frees a correction, which its run then deletes', async () => {
    const world = new World({ require: [] });
    await world.correctWithoutImage('a/1');
    world.drop('a/2', '1');
    await world.run();
    world.hour = 12;
    await world.clean(2);
    await world.retract('a/1.jpg');
    await world.run();
    await world.clean(3);
    expect(world.store.keys(incoming)).toEqual([]);
  });

  it('takes nothing from a retraction of what only waits', async () => {
    const world = new World();
    world.drop('a/1', '1');
    world.drop('a/2', '22', ['jpg']);
    await world.run();
    await world.retract('a/2.jpg');
    expect(await world.images()).toEqual({ 'a/1': 1 });
    world.drop('a/2', '22', ['json']);
    await world.run();
    expect(await world.images()).toEqual({ 'a/1': 1, 'a/2': 2 });
  });
});

describe.each(['manifest', 'nothing'] as const)('a given-up generation that lost its %s', (loses) => {
  /** Retracts the image of `a/1`, which a bundle held. */
  async function retracted(...older: readonly Record<string, string>[]): Promise<World> {
    const world = new World();
    for (const files of older) {
      seedBundle(world.store, files);
      world.hour += 1;
    }
    const newest = seedBundle(world.store, { 'a/1.jpg': '"new"', 'a/1.json': '1' });
    world.drop('b/2', 'other');
    world.hour += 1;
    await world.run();
    await world.retract('a/1.jpg');
    for (const key of [newest.data, newest.index]) world.store.objects.delete(key);
    world.hour += 1;
    return world;
  }

  it('keeps what waits beside a retraction', async () => {
    const world = await retracted();
    seedBundle(world.store, { 'a/1.jpg': '"newer"' });
    world.hour += 1;
    world.drop('b/3', 'third');
    await world.run();
    await world.compact({ everything: true });
    expect(await world.giveUp(loses)).toMatchObject({ kind: 'pruned' });
    world.drop('a/1', 'json', ['json']);
    world.hour += 1;
    await world.run();
    expect(await world.images()).toEqual({ 'a/1': 5, 'b/2': 5, 'b/3': 5 });
  });

  it('does not uncover what a retracted object replaced', async () => {
    const world = await retracted({ 'a/1.jpg': '"oldest"' });
    expect(await world.giveUp(loses)).toMatchObject({ kind: 'pruned' });
    world.drop('a/1', 'json', ['json']);
    world.hour += 1;
    await world.run();
    expect(await world.images()).toEqual({ 'b/2': 5 });
  });
});
