/** Generations of files (packing: none): a list of what lies under incoming/, and no shard. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { problems } from '../../../test/support/builders/compaction.ts';
import {
  incoming,
  manifestOf,
  now,
  PIPELINE,
  packAll,
  settings,
} from '../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../test/support/fakes/memory-blob-store.ts';
import { noteRetraction } from '../arrivals/retractions.ts';
import type { Manifest } from '../documents/manifest.ts';
import { readSealedManifest } from '../documents/sealed-arrivals.ts';
import { sealedLines } from '../documents/sealed-lines.ts';
import { addSealed, blobVersions, newestVersion } from '../documents/versions.ts';
import { planShards, previewPlan } from '../plan/plan-shards.ts';
import { writeQualityReport } from '../quality/quality-report.ts';
import { deletePacked } from '../seal/delete-packed.ts';
import { copyFile } from '../seal/kept-files.ts';
import { sealDataset } from '../seal/seal-dataset.ts';
import { verifyGeneration } from '../verify/verify.ts';
import { pruneGenerations } from '../versions/prune-generations.ts';
import { giveUpGeneration, repairGeneration } from '../versions/repair-generation.ts';
import { versionContents } from '../versions/version-contents.ts';

const runOf = (batch: number): string => `${PIPELINE}-00000${batch}`;
const files = (over: Partial<PackingSettings> = {}) => settings({ format: 'none', ...over });

let store: MemoryBlobStore;
beforeEach(() => {
  store = new MemoryBlobStore();
});

const drop = (all: Readonly<Record<string, string>>): void => {
  for (const [name, body] of Object.entries(all)) store.seed(`${incoming}${name}`, body);
};
const remove = (name: string): boolean => store.objects.delete(`${incoming}${name}`);

interface Sealing extends Partial<PackingSettings> {
  readonly keep?: 'versions';
}

const plan = (batch: number, over: Partial<PackingSettings> = {}) =>
  planShards(
    { store, now },
    { runId: runOf(batch), pipeline: PIPELINE, packing: files(over), settleMarker: '_DONE' },
  );
const seal = (batch: number, { keep, ...over }: Sealing = {}) =>
  sealDataset(
    { store },
    { runId: runOf(batch), pipeline: PIPELINE, packing: files(over), ...(keep && { keep }) },
  );
async function planAndSeal(batch: number, over: Sealing = {}) {
  const { keep: _keep, ...packing } = over;
  await plan(batch, packing);
  return seal(batch, over);
}

async function linesOf(manifest: Manifest | undefined): Promise<readonly (readonly unknown[])[]> {
  const lines: (readonly unknown[])[] = [];
  if (manifest === undefined) return lines;
  for await (const [key, , , fate] of sealedLines(store, manifest))
    lines.push([key.slice(incoming.length), fate]);
  return lines;
}
const sealedIn = async (batch: number) => linesOf(await readSealedManifest(store, PIPELINE, runOf(batch)));
const newest = () => newestVersion(blobVersions(store), PIPELINE);

describe('a plan of files', () => {
  it('has no shard and no item', async () => {
    drop({ 'a.csv': 'one', 'd/b.csv': 'two', _DONE: '' });
    expect(await plan(1)).toMatchObject({ status: 'planned', items: 0, objects: 2, bytes: 6 });
    expect(store.body(bucketKeys.planItems(PIPELINE, runOf(1))).toString()).toBe('[]');
  });

  it('finds nothing new where all lies as before', async () => {
    drop({ 'a.csv': 'one', 'notes.md': 'x' });
    await planAndSeal(1, { accept: ['.csv'] });
    expect(await plan(2, { accept: ['.csv'] })).toMatchObject({ status: 'nothingNew', objects: 0 });
  });

  it.each<[string, Partial<PackingSettings>]>([
    ['another split', { split: { train: 0.5, test: 0.5, by: 'key' } }],
    ['other files accepted', { accept: ['.json'] }],
  ])('is a new one with %s', async (_, over) => {
    drop({ 'a.csv': 'one', 'b.json': '{}' });
    await planAndSeal(1);
    expect((await plan(2, over)).status).toBe('planned');
  });

  it('is previewed as it will be', async () => {
    drop({ 'a.csv': 'one', '.DS_Store': 'x' });
    const input = { runId: runOf(1), pipeline: PIPELINE, packing: files() };
    const preview = await previewPlan({ store, now }, input, 10);
    expect(preview).toEqual({
      files: 2,
      bytes: 4,
      samples: 1,
      rejected: 1,
      shards: 0,
      items: 0,
    });
  });

  it('refuses bundles, which nothing unpacks', async () => {
    drop({ '.tidewheel/bundles/x.index': '' });
    await expect(plan(1)).rejects.toThrow('drop their files without --bundle');
  });
});

describe('a generation of files', () => {
  it('lists each file with its ETag, and writes no shard', async () => {
    drop({ 'a.csv': 'one', 'd/b.csv': 'two', 'notes.md': 'x' });
    const sealed = await planAndSeal(1, { accept: ['.csv'] });
    expect(sealed).toMatchObject({ status: 'sealed', isUnpacked: true, shards: 0, samples: 2, rejected: 1 });
    expect(await sealedIn(1)).toEqual([
      ['a.csv', 0],
      ['d/b.csv', 0],
      ['notes.md', 'suffixNotAccepted'],
    ]);
    expect(manifestOf(store)).toMatchObject({ format: 'none', shards: [], samples: 2, bytes: 6 });
    expect(store.keys(bucketKeys.shards(PIPELINE, runOf(1)))).toEqual([]);
  });

  it('takes the place of the one before', async () => {
    drop({ 'a.csv': 'one', 'b.csv': 'two' });
    await planAndSeal(1);
    drop({ 'b.csv': 'other', 'c.csv': 'new' });
    remove('a.csv');
    await planAndSeal(2);
    expect(await sealedIn(2)).toEqual([
      ['b.csv', 0],
      ['c.csv', 0],
    ]);
    expect(await newest()).toMatchObject({ number: 2, generations: [runOf(2)], replaced: [runOf(1)] });
  });

  it('is no version where only rejected files came', async () => {
    drop({ 'a.csv': 'one' });
    await planAndSeal(1, { accept: ['.csv'] });
    drop({ 'notes.md': 'x' });
    const sealed = await planAndSeal(2, { accept: ['.csv'] });
    expect(sealed).toMatchObject({ status: 'nothingToTrain', samples: 0, unchanged: 1, rejected: 1 });
    expect((await newest())?.generations).toEqual([runOf(1)]);
    expect((await plan(3, { accept: ['.csv'] })).status).toBe('nothingNew');
  });

  it('gives each part of a split its files', async () => {
    drop(Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`${n}.csv`, `${n}`])));
    await planAndSeal(1, { split: { train: 0.5, test: 0.5, by: 'key' } });
    const { splits = [] } = manifestOf(store);
    expect(splits.map(({ name }) => name)).toEqual(['train', 'test']);
    const counts = (await sealedIn(1)).map(([, part]) => part);
    for (const { first, samples } of splits) {
      expect(samples).toBeGreaterThan(5);
      expect(counts.filter((part) => part === first)).toHaveLength(samples);
    }
  });

  it('leaves out what is retracted, until it changes', async () => {
    drop({ 'a.csv': 'one', 'b.csv': 'two' });
    await planAndSeal(1);
    await noteRetraction(store, PIPELINE, [`${incoming}b.csv`]);
    expect(await problems(store)).toEqual([
      `${runOf(1)} holds "b.csv", which was retracted since it was planned: run tidewheel run ${PIPELINE}`,
    ]);
    await planAndSeal(2);
    expect(await problems(store)).toEqual([]);
    expect(await sealedIn(2)).toEqual([
      ['a.csv', 0],
      ['b.csv', 'retracted'],
    ]);
    drop({ 'c.csv': 'three' });
    await planAndSeal(3);
    expect(await sealedIn(3)).toContainEqual(['b.csv', 'retracted']);
    drop({ 'b.csv': 'other' });
    await planAndSeal(4);
    expect(await sealedIn(4)).toContainEqual(['b.csv', 0]);
  });

  it('has what changed after it was retracted', async () => {
    drop({ 'a.csv': 'one', 'b.csv': 'two' });
    await planAndSeal(1);
    await noteRetraction(store, PIPELINE, [`${incoming}b.csv`]);
    drop({ 'b.csv': 'other' });
    await planAndSeal(2);
    expect(await sealedIn(2)).toContainEqual(['b.csv', 0]);
  });

  it('leaves out what is retracted while it is sealed', async () => {
    drop({ 'a.csv': 'one', 'b.csv': 'two' });
    await plan(1);
    await noteRetraction(store, PIPELINE, [`${incoming}b.csv`]);
    await seal(1);
    expect(await sealedIn(1)).toContainEqual(['b.csv', 'retracted']);
  });

  it('replaces shards, and no shards follow it', async () => {
    drop({ 'a.csv': 'one' });
    await planAndSeal(1);
    const packed = { runId: runOf(2), pipeline: PIPELINE, packing: settings() };
    await expect(planShards({ store, now }, packed)).rejects.toThrow(
      `packing.format is "webdataset", but ${runOf(1)} was packed with "none"`,
    );
  });

  it('is not sealed after one of a later run', async () => {
    drop({ 'a.csv': 'one' });
    await plan(1);
    drop({ 'b.csv': 'two' });
    await planAndSeal(2);
    await expect(seal(1)).rejects.toThrow(`${runOf(2)} is sealed already`);
  });
});

describe('a seal of files', () => {
  const generation = () =>
    store.keys(bucketKeys.dataset(PIPELINE)).map((key) => [key, store.body(key).toString('hex')]);

  it('gives the same the second time', async () => {
    drop({ 'a.csv': 'one', 'b.csv': 'two' });
    await planAndSeal(1, { keep: 'versions' });
    const once = generation();
    expect((await seal(1, { keep: 'versions' })).status).toBe('alreadySealed');
    store.objects.delete(bucketKeys.manifest(PIPELINE, runOf(1)));
    await seal(1, { keep: 'versions' });
    expect(generation()).toEqual(once);
  });

  it('goes on where it died before the version', async () => {
    drop({ 'a.csv': 'one' });
    await planAndSeal(1);
    drop({ 'b.csv': 'two' });
    await planAndSeal(2);
    store.objects.delete(bucketKeys.datasetVersion(PIPELINE, 2));
    await addSealed(blobVersions(store), PIPELINE);
    expect(await newest()).toMatchObject({ generations: [runOf(2)], replaced: [runOf(1)] });
  });

  it('goes on where it died between copies and list', async () => {
    drop({ 'a.csv': 'one', 'b.csv': 'two', 'empty.csv': '' });
    await plan(1);
    const put = store.put.bind(store);
    store.put = (key, ...rest) =>
      key.endsWith('.jsonl.gz') ? Promise.reject(new Error('died')) : put(key, ...rest);
    await expect(seal(1, { keep: 'versions' })).rejects.toThrow('died');
    store.put = put;
    // The copy counts, whatever came of the file since.
    drop({ 'b.csv': 'other' });
    const before = store.copiedBytes;
    await seal(1, { keep: 'versions' });
    expect(store.copiedBytes).toBe(before);
    expect((await sealedIn(1)).map(([key]) => key)).toEqual(['a.csv', 'b.csv', 'empty.csv']);
  });

  it.each([
    ['changed', () => drop({ 'b.csv': 'other' })],
    ['deleted', () => remove('b.csv')],
  ])('leaves a file that was %s before its copy', async (reason, change) => {
    drop({ 'a.csv': 'one', 'b.csv': 'two' });
    await plan(1);
    change();
    const { left } = await seal(1, { keep: 'versions' });
    expect(left.byReason).toEqual({ [reason]: 1 });
    expect(await sealedIn(1)).toEqual([['a.csv', 0]]);
    expect(store.uploads.size).toBe(0);
  });

  it('copies a large file in parts, in their order', async () => {
    const body = Buffer.from(Array.from({ length: 1_000 }, (_, index) => index % 251));
    store.seed(`${incoming}a.bin`, body);
    const { etag = '' } = store.objects.get(`${incoming}a.bin`) ?? {};
    const file = { key: `${incoming}a.bin`, etag, size: body.length };
    expect(await copyFile(store, file, 'copy', 10)).toBe('copied');
    expect(store.body('copy')).toEqual(body);
    expect(store.uploads.size).toBe(0);
    drop({ 'a.bin': 'other' });
    expect(await copyFile(store, file, 'second', 10)).toBe('changed');
    expect(store.objects.has('second')).toBe(false);
    expect(store.uploads.size).toBe(0);
  });

  it('counts no copy whose upload is gone', async () => {
    const body = Buffer.from('a file of two parts');
    store.seed(`${incoming}a.bin`, body);
    const { etag = '' } = store.objects.get(`${incoming}a.bin`) ?? {};
    vi.spyOn(store, 'completeUpload').mockResolvedValueOnce('gone');
    const file = { key: `${incoming}a.bin`, etag, size: body.length };
    await expect(copyFile(store, file, 'copy', 10)).rejects.toThrow(TransientError);
  });

  it.each([true, false])('copies new files once, checked by the store: %s', async (checksCopies) => {
    store.checksCopies = checksCopies;
    drop({ 'a.csv': 'one', 'd/b.csv': 'two' });
    await planAndSeal(1, { keep: 'versions' });
    drop({ 'a.csv': 'other' });
    await planAndSeal(2, { keep: 'versions' });
    const kept = store
      .keys(bucketKeys.keptFiles(PIPELINE))
      .map((key) => `${key.split('/').slice(4).join('/')}: ${store.body(key).toString()}`);
    expect(kept.toSorted()).toEqual(['a.csv: one', 'a.csv: other', 'd/b.csv: two']);
  });
});

describe('a version of files', () => {
  const manifest = async (batch: number) => {
    const sealed = await readSealedManifest(store, PIPELINE, runOf(batch));
    if (sealed === undefined) throw new Error(`${batch} is not sealed`);
    return sealed;
  };
  const prune = (over: readonly string[] = [runOf(1), runOf(2)]) =>
    pruneGenerations(store, { pipeline: PIPELINE, what: 'replaced', pin: async () => undefined, over });
  const kept = () => store.keys(bucketKeys.keptFiles(PIPELINE)).map((key) => store.body(key).toString());

  it('has its files as contents, by their ETags', async () => {
    drop({ 'a.csv': 'one', 'notes.md': 'x' });
    await planAndSeal(1, { accept: ['.csv'] });
    const contents = await versionContents(store, PIPELINE, { generations: [runOf(1)] });
    const { etag } = store.objects.get(`${incoming}a.csv`) ?? {};
    expect(contents).toEqual([{ key: `${incoming}a.csv`, generation: runOf(1), digest: etag }]);
  });

  it('is verified by the ETags that lie there', async () => {
    drop({ 'a.csv': 'one', 'b.csv': 'two', 'notes.md': 'x' });
    await planAndSeal(1, { accept: ['.csv'] });
    const whole = await verifyGeneration(store, await manifest(1));
    expect(whole).toMatchObject({ shards: 0, members: 2, bytes: 6, problems: [] });
    drop({ 'b.csv': 'other' });
    const { problems } = await verifyGeneration(store, await manifest(1));
    expect(problems).toEqual([
      `"${incoming}b.csv" changed or was deleted since the seal, and has no copy: drop it again`,
    ]);
    const repaired = await repairGeneration(store, {
      pipeline: PIPELINE,
      generation: runOf(1),
      packing: files(),
    });
    expect(repaired).toMatchObject({ accepted: [], problems });
  });

  it('is whole while it has copies', async () => {
    drop({ 'a.csv': 'one', 'b.csv': 'two' });
    await planAndSeal(1, { keep: 'versions' });
    drop({ 'b.csv': 'other' });
    remove('a.csv');
    expect((await verifyGeneration(store, await manifest(1))).problems).toEqual([]);
  });

  it('is sealed again by the next run once it was given up', async () => {
    drop({ 'a.csv': 'one' });
    await planAndSeal(1, { accept: ['.csv'] });
    drop({ 'notes.md': 'x' });
    await planAndSeal(2, { accept: ['.csv'] });
    const request = { pipeline: PIPELINE, generation: runOf(1), over: [runOf(1), runOf(2)] };
    expect(await giveUpGeneration(store, { ...request, pin: async () => undefined })).toMatchObject({
      kind: 'pruned',
    });
    await planAndSeal(3, { accept: ['.csv'] });
    expect((await newest())?.generations).toEqual([runOf(3)]);
  });

  it('is sealed again from its plan', async () => {
    drop({ 'a.csv': 'one' });
    await planAndSeal(1);
    const before = await manifest(1);
    store.objects.delete(bucketKeys.manifest(PIPELINE, runOf(1)));
    const repaired = await repairGeneration(store, {
      pipeline: PIPELINE,
      generation: runOf(1),
      packing: files(),
    });
    expect(repaired).toMatchObject({ isSealedAgain: true, problems: [] });
    expect(await manifest(1)).toEqual(before);
  });

  it('keeps the copies that a version names', async () => {
    drop({ 'a.csv': 'one', 'b.csv': 'two' });
    await planAndSeal(1, { keep: 'versions' });
    drop({ 'b.csv': 'other' });
    await planAndSeal(2, { keep: 'versions' });
    expect(kept().toSorted()).toEqual(['one', 'other', 'two']);
    // A run that seals may have copied what it is going to name.
    expect(await prune([runOf(1)])).toMatchObject({ kind: 'pruned' });
    expect(kept()).toHaveLength(3);
    expect(await prune()).toMatchObject({ kind: 'pruned', objects: 1, bytes: 3 });
    expect(kept().toSorted()).toEqual(['one', 'other']);
    expect((await manifest(1)).pruned).toBe(true);
  });

  it('is not deleted by a run that packed before it', async () => {
    drop({ 'a.csv': 'one' });
    await packAll(store, settings({ label: 'none' }), runOf(1));
    await planAndSeal(2);
    const deletion = await deletePacked(
      { store, isTimeUp: () => false },
      { pipeline: PIPELINE, runId: runOf(1) },
    );
    expect(deletion).toMatchObject({ deleted: 0, kept: expect.stringContaining('packing: none') });
    expect(store.objects.has(`${incoming}a.csv`)).toBe(true);
  });

  it('has a quality report of what was rejected', async () => {
    drop({ 'a.csv': 'one', 'notes.md': 'x' });
    await planAndSeal(1, { accept: ['.csv'] });
    const hold = { rejected: '10 %' };
    const report = await writeQualityReport({ store }, { pipeline: PIPELINE, generation: runOf(1), hold });
    expect(report).toMatchObject({
      arrivals: { packed: 1, rejected: 1 },
      rejections: { byReason: { suffixNotAccepted: 1 } },
    });
    expect(report?.held.join()).toContain('50');
  });
});
