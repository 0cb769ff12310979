/** A correction replaces the sample that it corrects, in the version that a run reads. */

import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { datasetOf } from '../../../../functions/records/run-dataset.ts';
import {
  accounts,
  current,
  incoming,
  linesIn,
  problems,
  runOf,
} from '../../../../test/support/builders/compaction.ts';
import { controlView } from '../../../../test/support/builders/control-view.ts';
import { now, PIPELINE, planAndPack, SMALL, settings } from '../../../../test/support/builders/packing.ts';
import { declarationOf, runOf as recordOf } from '../../../../test/support/builders/records.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { compact } from '../../compaction/compact.ts';
import { blobVersions, newestVersion } from '../../documents/versions.ts';
import { planShards } from '../../plan/plan-shards.ts';
import { sealDataset } from '../../seal/seal-dataset.ts';
import { compareContents, versionContents } from '../../versions/version-contents.ts';

const REPLACE = { onChange: 'replace' } as const;

/** Plans, packs and seals one run, then compacts as the run would. */
async function runOnce(store: MemoryBlobStore, batch: number, packing: PackingSettings): Promise<void> {
  await pack(store, batch, packing);
  await compactWaiting(store, packing);
}

async function pack(store: MemoryBlobStore, batch: number, packing: PackingSettings): Promise<void> {
  const run = { runId: runOf(batch), pipeline: PIPELINE, packing };
  await planShards({ store, now, rangeObjects: 3 }, { ...run, ...REPLACE });
  await planAndPack(store, packing, run.runId);
  await sealDataset({ store }, run);
}

const compactWaiting = (store: MemoryBlobStore, packing: PackingSettings) =>
  compact(store, { pipeline: PIPELINE, packing, after: 'never', ...REPLACE }, { ...SMALL, readBytes: 1_000 });

const put = (store: MemoryBlobStore, files: Readonly<Record<string, string>>): void => {
  for (const [key, body] of Object.entries(files)) store.seed(`${incoming}${key}`, body);
};

/** Each source of the newest version with its digest. A key that is there twice is an error. */
async function held(store: MemoryBlobStore): Promise<Record<string, string>> {
  const lines = (await current(store)).flatMap((manifest) => linesIn(store, manifest));
  const found: Record<string, string> = {};
  for (const { key, sha256, source, repeat } of lines) {
    if (key === undefined || repeat !== undefined) continue;
    const name = key.slice(incoming.length);
    if (found[name] !== undefined) throw new Error(`${name} is there twice`);
    found[name] = source?.sha256 ?? sha256;
  }
  return found;
}

const digest = (text: string): string => hash('sha256', text);
const digests = (files: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(files).map(([key, text]) => [key, digest(text)]));

const packing = settings({ shardMegabytes: 0.06 });

describe('a correction', () => {
  it('replaces the sample in the next version', async () => {
    const store = new MemoryBlobStore();
    put(store, { 'a/1.jpg': 'one', 'a/2.jpg': 'two', 'b/3.jpg': 'three' });
    await runOnce(store, 1, packing);
    put(store, { 'a/1.jpg': 'ONE' });
    await runOnce(store, 2, packing);
    expect(await held(store)).toEqual(digests({ 'a/1.jpg': 'ONE', 'a/2.jpg': 'two', 'b/3.jpg': 'three' }));
    expect(await problems(store)).toEqual([]);
  });

  it('may be the earlier bytes again', async () => {
    const store = new MemoryBlobStore();
    for (const [batch, body] of ['one', 'ONE', 'one', 'ONE'].entries()) {
      put(store, { 'a/1.jpg': body, 'a/2.jpg': 'two' });
      await runOnce(store, batch + 1, packing);
      expect(await held(store)).toEqual(digests({ 'a/1.jpg': body, 'a/2.jpg': 'two' }));
    }
  });

  it('of a label brings its image along', async () => {
    const store = new MemoryBlobStore();
    put(store, { 'a/1.jpg': 'one', 'a/1.json': '{}', 'a/2.jpg': 'two' });
    await runOnce(store, 1, packing);
    put(store, { 'a/1.json': '{"right":true}' });
    await runOnce(store, 2, packing);
    expect(await held(store)).toEqual(
      digests({ 'a/1.jpg': 'one', 'a/1.json': '{"right":true}', 'a/2.jpg': 'two' }),
    );
    const lines = (await current(store)).flatMap((manifest) => linesIn(store, manifest));
    const samples = lines.filter(({ key }) => key?.includes('a/1.')).map(({ sample }) => sample);
    expect(new Set(samples).size).toBe(1);
  });

  it('may take the place of a member', async () => {
    // `a/1.JPG` is listed before `a/1.jpg`, which stands alone from then on. A sample has at most 64 members.
    const many = Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`b/2.x${n + 10}`, `${n}`]));
    const store = new MemoryBlobStore();
    put(store, { 'a/1.jpg': 'one', 'a/1.json': '{}', ...many });
    await runOnce(store, 1, packing);
    put(store, { 'a/1.JPG': 'ONE', 'b/2.a': 'a' });
    await runOnce(store, 2, packing);
    const all = { 'a/1.jpg': 'one', 'a/1.json': '{}', ...many, 'a/1.JPG': 'ONE', 'b/2.a': 'a' };
    expect(await held(store)).toEqual(digests(all));
    expect(await problems(store)).toEqual([]);
  });

  it('without the rest of its sample is rejected', async () => {
    const store = new MemoryBlobStore();
    put(store, { 'a/1.jpg': 'one', 'a/1.json': '{}' });
    await runOnce(store, 1, packing);
    store.objects.delete(`${incoming}a/1.jpg`);
    put(store, { 'a/1.json': '{"right":true}', 'a/2.jpg': 'two' });
    await runOnce(store, 2, packing);
    expect(await held(store)).toEqual(digests({ 'a/1.jpg': 'one', 'a/1.json': '{}', 'a/2.jpg': 'two' }));
    expect(await accounts(store)).toContainEqual(expect.stringMatching(/1\.json .* correctionIncomplete$/));
    expect(await problems(store)).toEqual([]);
  });

  it('is packed when its sample is whole again', async () => {
    const store = new MemoryBlobStore();
    put(store, { 'a/1.jpg': 'one', 'a/1.json': '{}', 'a/2.jpg': 'two' });
    await runOnce(store, 1, packing);
    store.objects.delete(`${incoming}a/1.jpg`);
    put(store, { 'a/1.json': '{"right":true}', 'a/3.jpg': 'three' });
    await runOnce(store, 2, packing);
    put(store, { 'a/1.jpg': 'one' });
    await runOnce(store, 3, packing);
    const rest = { 'a/2.jpg': 'two', 'a/3.jpg': 'three' };
    expect(await held(store)).toEqual(digests({ 'a/1.jpg': 'one', 'a/1.json': '{"right":true}', ...rest }));
    expect(await problems(store)).toEqual([]);
  });

  it('alone and without its sample leaves the dataset', async () => {
    const store = new MemoryBlobStore();
    put(store, { 'a/1.jpg': 'one', 'a/1.json': '{}' });
    await runOnce(store, 1, packing);
    store.objects.delete(`${incoming}a/1.jpg`);
    put(store, { 'a/1.json': '{"right":true}' });
    await runOnce(store, 2, packing);
    expect(await held(store)).toEqual(digests({ 'a/1.jpg': 'one', 'a/1.json': '{}' }));
    expect(await problems(store)).toEqual([]);
  });

  it('is in no version beside what it corrects', async () => {
    const store = new MemoryBlobStore();
    put(store, { 'a/1.jpg': 'one' });
    await runOnce(store, 1, packing);
    put(store, { 'a/1.jpg': 'ONE' });
    await pack(store, 2, packing);
    expect(await held(store)).toEqual(digests({ 'a/1.jpg': 'one' }));
    const run = recordOf(PIPELINE, 2, { declaration: declarationOf(PIPELINE) });
    await expect(datasetOf(controlView(store), run)).rejects.toThrow('replaces or removes samples');
    await compactWaiting(store, packing);
    expect((await datasetOf(controlView(store), run)).generations).toHaveLength(1);
    const newest = await newestVersion(blobVersions(store), PIPELINE);
    expect(newest?.added[runOf(2)]).toBe(newest?.number);
  });

  it('is added when nothing was packed before', async () => {
    const store = new MemoryBlobStore();
    put(store, { 'a/1.txt': 'one', 'a/2.dat': 'two' });
    const jpg = { ...packing, accept: ['.dat'] };
    await runOnce(store, 1, jpg);
    put(store, { 'a/1.txt': 'ONE', 'a/1.dat': 'data' });
    await runOnce(store, 2, jpg);
    expect((await newestVersion(blobVersions(store), PIPELINE))?.generations).toEqual([
      runOf(1),
      expect.stringContaining(`${runOf(2)}-c`),
    ]);
  });

  it('is added when the whole first drop was rejected', async () => {
    const store = new MemoryBlobStore();
    const jpg = { ...packing, accept: ['.dat'] };
    put(store, { 'a/1.txt': 'one' });
    await runOnce(store, 1, jpg);
    put(store, { 'a/1.txt': 'ONE', 'a/1.dat': 'data' });
    await runOnce(store, 2, { ...packing, accept: ['.txt', '.dat'] });
    expect(Object.keys(await held(store))).toEqual(['a/1.dat', 'a/1.txt']);
  });
});

describe('a retracted object', () => {
  const retract = (store: MemoryBlobStore, ...keys: string[]) =>
    compact(
      store,
      {
        pipeline: PIPELINE,
        packing,
        after: 'never',
        ...REPLACE,
        retracted: new Set(keys.map((key) => incoming + key)),
      },
      { ...SMALL, readBytes: 1_000 },
    );

  it('is in no shard, with its whole sample', async () => {
    const store = new MemoryBlobStore();
    put(store, { 'a/1.jpg': 'one', 'a/1.json': '{}', 'a/2.jpg': 'two' });
    await runOnce(store, 1, packing);
    put(store, { 'b/3.jpg': 'three' });
    await runOnce(store, 2, packing);
    await retract(store, 'a/1.json');
    expect(await held(store)).toEqual(digests({ 'a/2.jpg': 'two', 'b/3.jpg': 'three' }));
    expect((await accounts(store)).filter((line) => line.endsWith(' retracted'))).toHaveLength(2);
    expect(await problems(store)).toEqual([]);
  });

  it('is not packed again, but newer bytes are', async () => {
    const store = new MemoryBlobStore();
    put(store, { 'a/1.jpg': 'one', 'a/2.jpg': 'two' });
    await runOnce(store, 1, packing);
    await retract(store, 'a/1.jpg');
    await runOnce(store, 2, packing);
    expect(await held(store)).toEqual(digests({ 'a/2.jpg': 'two' }));
    put(store, { 'a/1.jpg': 'ONE' });
    await runOnce(store, 3, packing);
    expect(await held(store)).toEqual(digests({ 'a/1.jpg': 'ONE', 'a/2.jpg': 'two' }));
  });

  it('stays away when the rest of its sample comes', async () => {
    const any = { ...packing, require: [] };
    const store = new MemoryBlobStore();
    put(store, { 'a/1.jpg': 'one', 'a/1.json': '{}', 'a/2.jpg': 'two' });
    await runOnce(store, 1, any);
    await retract(store, 'a/1.jpg');
    put(store, { 'a/1.json': '{"new":true}' });
    await runOnce(store, 2, any);
    expect(await held(store)).toEqual(digests({ 'a/1.json': '{"new":true}', 'a/2.jpg': 'two' }));
  });

  it('takes another generation along where it was alone', async () => {
    const store = new MemoryBlobStore();
    put(store, { 'a/1.jpg': 'one' });
    await runOnce(store, 1, packing);
    await expect(retract(store, 'a/1.jpg')).rejects.toThrow('no sample of the dataset would be left');
    put(store, { 'a/2.jpg': 'two' });
    await runOnce(store, 2, packing);
    await retract(store, 'a/1.jpg');
    expect(await held(store)).toEqual(digests({ 'a/2.jpg': 'two' }));
    expect(await problems(store)).toEqual([]);
  });

  it('leaves its correction to be packed alone', async () => {
    const store = new MemoryBlobStore();
    put(store, { 'a/1.jpg': 'one', 'a/1.json': '{}', 'a/2.jpg': 'two' });
    await runOnce(store, 1, packing);
    store.objects.delete(`${incoming}a/1.json`);
    put(store, { 'a/1.jpg': 'ONE' });
    await runOnce(store, 2, packing);
    await retract(store, 'a/1.jpg');
    expect(await held(store)).toEqual(digests({ 'a/2.jpg': 'two' }));
    await runOnce(store, 3, packing);
    expect(await held(store)).toEqual(digests({ 'a/1.jpg': 'ONE', 'a/2.jpg': 'two' }));
    const fourth = { runId: runOf(4), pipeline: PIPELINE, packing, ...REPLACE };
    expect(await planShards({ store, now }, fourth)).toMatchObject({ status: 'nothingNew', waiting: false });
  });

  it('that is unknown changes nothing', async () => {
    const store = new MemoryBlobStore();
    put(store, { 'a/1.jpg': 'one' });
    await runOnce(store, 1, packing);
    expect(await retract(store, 'a/9.jpg')).toEqual({ status: 'nothingToCompact' });
  });
});

describe('two versions', () => {
  it('are compared by keys and bytes', async () => {
    const store = new MemoryBlobStore();
    put(store, { 'a/1.jpg': 'one', 'a/2.jpg': 'two', 'a/3.jpg': 'three' });
    await runOnce(store, 1, packing);
    const before = await versionContents(store, PIPELINE, { generations: [runOf(1)] });
    put(store, { 'a/1.jpg': 'ONE', 'b/4.jpg': 'four' });
    await runOnce(store, 2, packing);
    const retracted = new Set([`${incoming}a/3.jpg`]);
    await compact(store, { pipeline: PIPELINE, packing, after: 'never', retracted });
    const generations = (await current(store)).map(({ generation }) => generation);
    const after = await versionContents(store, PIPELINE, { generations });
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
    const format = settings({ shardMegabytes: 0.06, ...changes });
    const isEven = changes.remainder !== undefined;
    await fc.assert(
      fc.asyncProperty(drops, async (histories) => {
        const store = new MemoryBlobStore();
        const expected: Record<string, string> = {};
        for (const [index, drop] of histories.entries()) {
          put(store, drop);
          Object.assign(expected, drop);
          await runOnce(store, index + 1, format);
          expect(await problems(store)).toEqual([]);
          const found = await held(store);
          // A sample that is dropped for equal counts is packed later.
          expect(changes.remainder === 'drop' || isDeepStrictEqual(found, digests(expected))).toBe(true);
          const uneven = (await current(store)).filter(
            ({ shards }) => new Set(shards.map(({ samples }) => samples)).size > 1,
          );
          expect(isEven ? uneven : []).toEqual([]);
        }
      }),
      { numRuns: 8 },
    );
  }, 60_000);
});
