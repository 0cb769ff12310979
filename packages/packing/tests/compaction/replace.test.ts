/** A correction replaces the sample that it corrects, in the version that a run reads. */

import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { datasetOf } from '../../../../functions/records/run-dataset.ts';
import { accounts, current, incoming, linesIn, runOf } from '../../../../test/support/builders/compaction.ts';
import { controlView } from '../../../../test/support/builders/control-view.ts';
import { DatasetWorld } from '../../../../test/support/builders/dataset-world.ts';
import { PIPELINE } from '../../../../test/support/builders/packing.ts';
import { declarationOf, runOf as recordOf } from '../../../../test/support/builders/records.ts';
import { blobVersions, newestVersion } from '../../documents/versions.ts';
import { compareContents, versionContents } from '../../versions/version-contents.ts';

const digest = (text: string): string => hash('sha256', text);
const digests = (files: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(files).map(([key, text]) => [key, digest(text)]));

describe('a correction', () => {
  it('may be the earlier bytes again', async () => {
    const world = new DatasetWorld();
    for (const body of ['one', 'ONE', 'one', 'ONE']) {
      world.put({ 'a/1.jpg': body, 'a/2.jpg': 'two' });
      await world.run();
      expect(await world.held()).toEqual(digests({ 'a/1.jpg': body, 'a/2.jpg': 'two' }));
    }
  });

  it('of a label brings its image along', async () => {
    const world = new DatasetWorld();
    world.put({ 'a/1.jpg': 'one', 'a/1.json': '{}', 'a/2.jpg': 'two' });
    await world.run();
    world.put({ 'a/1.json': '{"right":true}' });
    await world.run();
    expect(await world.held()).toEqual(
      digests({ 'a/1.jpg': 'one', 'a/1.json': '{"right":true}', 'a/2.jpg': 'two' }),
    );
    const lines = (await current(world.store)).flatMap((manifest) => linesIn(world.store, manifest));
    const samples = lines.filter(({ key }) => key?.includes('a/1.')).map(({ sample }) => sample);
    expect(new Set(samples).size).toBe(1);
  });

  it('may take the place of a member', async () => {
    // `a/1.JPG` is listed before `a/1.jpg`, which stands alone from then on. A sample has at most 64 members.
    const many = Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`b/2.x${n + 10}`, `${n}`]));
    const world = new DatasetWorld();
    world.put({ 'a/1.jpg': 'one', 'a/1.json': '{}', ...many });
    await world.run();
    world.put({ 'a/1.JPG': 'ONE', 'b/2.a': 'a' });
    await world.run();
    const all = { 'a/1.jpg': 'one', 'a/1.json': '{}', ...many, 'a/1.JPG': 'ONE', 'b/2.a': 'a' };
    expect(await world.held()).toEqual(digests(all));
  });

  it('without the rest of its sample is rejected', async () => {
    const world = new DatasetWorld();
    world.put({ 'a/1.jpg': 'one', 'a/1.json': '{}' });
    await world.run();
    world.delete('a/1.jpg');
    world.put({ 'a/1.json': '{"right":true}', 'a/2.jpg': 'two' });
    await world.run();
    expect(await world.held()).toEqual(digests({ 'a/1.jpg': 'one', 'a/1.json': '{}', 'a/2.jpg': 'two' }));
    expect(await accounts(world.store)).toContainEqual(
      expect.stringMatching(/1\.json .* correctionIncomplete$/),
    );
  });

  it('is packed when its sample is whole again', async () => {
    const world = new DatasetWorld();
    world.put({ 'a/1.jpg': 'one', 'a/1.json': '{}', 'a/2.jpg': 'two' });
    await world.run();
    world.delete('a/1.jpg');
    world.put({ 'a/1.json': '{"right":true}', 'a/3.jpg': 'three' });
    await world.run();
    world.put({ 'a/1.jpg': 'one' });
    await world.run();
    const rest = { 'a/2.jpg': 'two', 'a/3.jpg': 'three' };
    expect(await world.held()).toEqual(digests({ 'a/1.jpg': 'one', 'a/1.json': '{"right":true}', ...rest }));
  });

  it('alone and without its sample leaves the dataset', async () => {
    const world = new DatasetWorld();
    world.put({ 'a/1.jpg': 'one', 'a/1.json': '{}' });
    await world.run();
    world.delete('a/1.jpg');
    world.put({ 'a/1.json': '{"right":true}' });
    await world.run();
    expect(await world.held()).toEqual(digests({ 'a/1.jpg': 'one', 'a/1.json': '{}' }));
  });

  it('is in no version beside what it corrects', async () => {
    const world = new DatasetWorld();
    world.put({ 'a/1.jpg': 'one' });
    await world.run();
    world.put({ 'a/1.jpg': 'ONE' });
    await world.plan();
    await world.seal();
    expect(await world.held()).toEqual(digests({ 'a/1.jpg': 'one' }));
    const run = recordOf(PIPELINE, 2, { declaration: declarationOf(PIPELINE) });
    await expect(datasetOf(controlView(world.store), run)).rejects.toThrow('replaces or removes samples');
    await world.compact();
    expect((await datasetOf(controlView(world.store), run)).generations).toHaveLength(1);
    const newest = await newestVersion(blobVersions(world.store), PIPELINE);
    expect(newest?.added[runOf(2)]).toBe(newest?.number);
  });

  it('is added when nothing was packed before', async () => {
    const world = new DatasetWorld({ accept: ['.dat'] });
    world.put({ 'a/1.txt': 'one', 'a/2.dat': 'two' });
    await world.run();
    world.put({ 'a/1.txt': 'ONE', 'a/1.dat': 'data' });
    await world.run();
    expect((await newestVersion(blobVersions(world.store), PIPELINE))?.generations).toEqual([
      runOf(1),
      expect.stringContaining(`${runOf(2)}-c`),
    ]);
  });

  it('is added when the whole first drop was rejected', async () => {
    const world = new DatasetWorld({ accept: ['.dat'] });
    world.put({ 'a/1.txt': 'one' });
    await world.run();
    world.put({ 'a/1.txt': 'ONE', 'a/1.dat': 'data' });
    world.packing = { ...world.packing, accept: ['.txt', '.dat'] };
    await world.run();
    expect(Object.keys(await world.held())).toEqual(['a/1.dat', 'a/1.txt']);
  });
});

describe('a retracted object', () => {
  it('is in no shard, with its whole sample', async () => {
    const world = new DatasetWorld();
    world.put({ 'a/1.jpg': 'one', 'a/1.json': '{}', 'a/2.jpg': 'two' });
    await world.run();
    world.put({ 'b/3.jpg': 'three' });
    await world.run();
    await world.retract('a/1.json');
    expect(await world.held()).toEqual(digests({ 'a/2.jpg': 'two', 'b/3.jpg': 'three' }));
    expect((await accounts(world.store)).filter((line) => line.endsWith(' retracted'))).toHaveLength(2);
  });

  it('stays away when the rest of its sample comes', async () => {
    const world = new DatasetWorld({ require: [] });
    world.put({ 'a/1.jpg': 'one', 'a/1.json': '{}', 'a/2.jpg': 'two' });
    await world.run();
    await world.retract('a/1.jpg');
    world.put({ 'a/1.json': '{"new":true}' });
    await world.run();
    expect(await world.held()).toEqual(digests({ 'a/1.json': '{"new":true}', 'a/2.jpg': 'two' }));
  });

  it('takes another generation along where it was alone', async () => {
    const world = new DatasetWorld();
    world.put({ 'a/1.jpg': 'one' });
    await world.run();
    await expect(world.retract('a/1.jpg')).rejects.toThrow('no sample of the dataset would be left');
    world.put({ 'a/2.jpg': 'two' });
    await world.run();
    await world.retract('a/1.jpg');
    expect(await world.held()).toEqual(digests({ 'a/2.jpg': 'two' }));
  });

  it('leaves its correction to be packed alone', async () => {
    const world = new DatasetWorld();
    world.put({ 'a/1.jpg': 'one', 'a/1.json': '{}', 'a/2.jpg': 'two' });
    await world.run();
    world.delete('a/1.json');
    world.put({ 'a/1.jpg': 'ONE' });
    await world.run();
    await world.retract('a/1.jpg');
    expect(await world.held()).toEqual(digests({ 'a/2.jpg': 'two' }));
    await world.run();
    expect(await world.held()).toEqual(digests({ 'a/1.jpg': 'ONE', 'a/2.jpg': 'two' }));
    expect(await world.plan()).toMatchObject({ status: 'nothingNew', waiting: false });
  });

  it('that is unknown changes nothing', async () => {
    const world = new DatasetWorld();
    world.put({ 'a/1.jpg': 'one' });
    await world.run();
    expect(await world.retract('a/9.jpg')).toEqual({ status: 'nothingToCompact' });
  });
});

describe('two versions', () => {
  it('are compared by keys and bytes', async () => {
    const world = new DatasetWorld();
    world.put({ 'a/1.jpg': 'one', 'a/2.jpg': 'two', 'a/3.jpg': 'three' });
    await world.run();
    const before = await versionContents(world.store, PIPELINE, { generations: [runOf(1)] });
    world.put({ 'a/1.jpg': 'ONE', 'b/4.jpg': 'four' });
    await world.run();
    await world.retract('a/3.jpg');
    const generations = (await current(world.store)).map(({ generation }) => generation);
    const after = await versionContents(world.store, PIPELINE, { generations });
    expect(compareContents(before, after)).toEqual({
      added: [`${incoming}b/4.jpg`],
      replaced: [`${incoming}a/1.jpg`],
      retracted: [`${incoming}a/3.jpg`],
    });
  });
});

const FORMATS: readonly (readonly [string, Partial<PackingSettings>])[] = [
  ['webdataset', {}],
  ['webdataset, even', { remainder: 'even', shardsMultipleOf: 2, leastShardsPerWorker: 2 }],
  ['webdataset, drop', { remainder: 'drop', shardsMultipleOf: 2 }],
  ['webdataset, balanced', { balance: 'over' }],
  ['tfrecord', { format: 'tfrecord' }],
  ['tfrecord, even', { format: 'tfrecord', remainder: 'even', shardsMultipleOf: 2 }],
  ['tfrecord in gzip', { format: 'tfrecord', tfrecord: { compression: 'gzip' } }],
  ['recordio', { format: 'recordio', labelType: 'integer' }],
  ['mds', { format: 'mds', labelType: 'integer' }],
  ['parquet', { format: 'parquet', labelType: 'integer' }],
  ['parquet, even', { format: 'parquet', remainder: 'even', shardsMultipleOf: 2 }],
  ['mds, even', { format: 'mds', labelType: 'integer', remainder: 'even', shardsMultipleOf: 2 }],
  ['lines', { format: 'lines' }],
];

const file = fc.integer({ min: 0, max: 11 }).map((name) => `${name % 2}/${name}.jpg`);
// A file of lines ends with a newline.
const text = fc.string({ maxLength: 300 }).map((line) => `${line}\n`);
const drops = fc.array(fc.dictionary(file, text, { minKeys: 1, maxKeys: 8 }), { minLength: 2, maxLength: 6 });

describe.each(FORMATS)('every version of %s', (_name, changes) => {
  it('holds the newest bytes of each key', async () => {
    const isEven = changes.remainder !== undefined;
    await fc.assert(
      fc.asyncProperty(drops, async (histories) => {
        const world = new DatasetWorld(changes);
        const expected: Record<string, string> = {};
        for (const drop of histories) {
          world.put(drop);
          Object.assign(expected, drop);
          await world.run();
          const found = await world.held();
          // A sample that is dropped for equal counts is packed later.
          expect(changes.remainder === 'drop' || isDeepStrictEqual(found, digests(expected))).toBe(true);
          const uneven = (await current(world.store)).filter(
            ({ shards }) => new Set(shards.map(({ samples }) => samples)).size > 1,
          );
          expect(isEven ? uneven : []).toEqual([]);
        }
      }),
      { numRuns: 8 },
    );
  }, 60_000);
});
