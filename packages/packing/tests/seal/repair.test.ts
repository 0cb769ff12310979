/** A generation that a person damaged: one command makes it right or gives it up. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { describe, expect, it } from 'vitest';
import {
  compactAll,
  contents,
  current,
  incoming,
  packedInDrops,
  runOf,
} from '../../../../test/support/builders/compaction.ts';
import { now, PIPELINE, packAll, SMALL, settings } from '../../../../test/support/builders/packing.ts';
import type { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { compact } from '../../compaction/compact.ts';
import { packingKeys } from '../../documents/packing-keys.ts';
import { readSealedManifest } from '../../documents/sealed-arrivals.ts';
import { planShards } from '../../plan/plan-shards.ts';
import { verifyGeneration } from '../../verify/verify.ts';
import { giveUpGeneration, repairGeneration } from '../../versions/repair-generation.ts';

const packing = settings();
const request = { pipeline: PIPELINE, generation: runOf(1), packing };
const MANIFEST = bucketKeys.manifest(PIPELINE, runOf(1));
const SHARD = `${bucketKeys.shards(PIPELINE, runOf(1))}shard-000000.tar`;

async function twoDrops(): Promise<MemoryBlobStore> {
  const store = await packedInDrops(
    [{ 'a/1.jpg': 'one', 'a/2.jpg': 'two' }, { 'b/3.jpg': 'three' }],
    packing,
  );
  for (const batch of [1, 2]) store.seed(bucketKeys.report(PIPELINE, runOf(batch)), '{}');
  return store;
}

const giveUp = (store: MemoryBlobStore, generation = runOf(1), pin?: string) =>
  giveUpGeneration(store, { pipeline: PIPELINE, generation, pin: () => Promise.resolve(pin) });

/** As `tidewheel data retract` does. Returns the joined generation. */
async function retract(store: MemoryBlobStore, key: string): Promise<string> {
  const retracted = new Set([bucketKeys.incoming(PIPELINE) + key]);
  const result = await compact(
    store,
    { pipeline: PIPELINE, packing, after: 'never', retracted },
    { ...SMALL, readBytes: 1_000 },
  );
  return 'generation' in result ? result.generation : '';
}

const nextRun = (store: MemoryBlobStore) =>
  planShards({ store, now }, { runId: runOf(3), pipeline: PIPELINE, packing });

async function problemsOf(store: MemoryBlobStore): Promise<readonly string[] | undefined> {
  const manifest = await readSealedManifest(store, PIPELINE, runOf(1));
  return manifest && (await verifyGeneration(store, manifest)).problems;
}

describe('a repair', () => {
  it('changes nothing of a generation that is whole', async () => {
    const store = await twoDrops();
    const before = store.body(MANIFEST);
    expect(await repairGeneration(store, request)).toEqual({
      isSealedAgain: false,
      accepted: [],
      rejoined: [],
      problems: [],
    });
    expect(store.body(MANIFEST)).toEqual(before);
  });

  it('accepts the right bytes under another ETag', async () => {
    const store = await twoDrops();
    store.seed(SHARD, store.body(SHARD), 'restored-2');
    expect(await problemsOf(store)).toHaveLength(1);
    expect((await repairGeneration(store, request)).accepted).toEqual(['shard-000000.tar']);
    expect(await problemsOf(store)).toEqual([]);
  });

  it('accepts no other bytes', async () => {
    const store = await twoDrops();
    const [body, manifest] = [store.body(SHARD), store.body(MANIFEST)];
    body[600] = (body[600] ?? 0) ^ 1;
    store.seed(SHARD, body);
    const { accepted, problems } = await repairGeneration(store, request);
    expect([accepted, problems.length > 0]).toEqual([[], true]);
    expect(store.body(MANIFEST)).toEqual(manifest);
  });

  it.each([
    ['gone', undefined],
    ['damaged', '{'],
  ])('writes a manifest again that is %s', async (_, text) => {
    const store = await twoDrops();
    const before = store.body(MANIFEST);
    if (text === undefined) store.objects.delete(MANIFEST);
    else store.seed(MANIFEST, text);
    await expect(nextRun(store)).rejects.toThrow(
      `npx --no-install tidewheel data repair ${PIPELINE} ${runOf(1)}`,
    );
    expect(await repairGeneration(store, request)).toMatchObject({ isSealedAgain: true, problems: [] });
    expect(store.body(MANIFEST)).toEqual(before);
  });

  it('writes the manifest of a joined generation again', async () => {
    const store = await twoDrops();
    const generation = await retract(store, 'a/1.jpg');
    const manifest = bucketKeys.manifest(PIPELINE, generation);
    const before = store.body(manifest);
    store.objects.delete(manifest);
    const repaired = await repairGeneration(store, { ...request, generation });
    expect(repaired).toMatchObject({ isSealedAgain: true, problems: [] });
    expect(store.body(manifest)).toEqual(before);
  });

  it('joins a lost shard again', async () => {
    const store = await twoDrops();
    const generation = await retract(store, 'a/1.jpg');
    const shard = `${bucketKeys.shards(PIPELINE, generation)}shard-000000.tar`;
    const before = store.body(shard);
    store.objects.delete(shard);
    const complete = store.completeUpload.bind(store);
    // The emulator, and perhaps S3, answers again for an upload that was completed before.
    store.completeUpload = (upload, parts) =>
      store.uploads.has(upload.id) ? complete(upload, parts) : Promise.resolve({ etag: 'earlier' });
    const repaired = await repairGeneration(store, { ...request, generation });
    expect(repaired).toMatchObject({ rejoined: ['shard-000000.tar'], problems: [] });
    expect(store.body(shard)).toEqual(before);
  });

  it('joins nothing again where an input is gone', async () => {
    const store = await twoDrops();
    const generation = await retract(store, 'a/1.jpg');
    const keys = [MANIFEST, `${bucketKeys.shards(PIPELINE, generation)}shard-000000.tar`];
    for (const key of keys) store.objects.delete(key);
    const { rejoined, problems } = await repairGeneration(store, { ...request, generation });
    expect([rejoined, problems.length]).toEqual([[], 1]);
  });

  it('says what is missing without the plan', async () => {
    const store = await twoDrops();
    store.objects.delete(MANIFEST);
    for (const key of store.objects.keys())
      if (key.startsWith(bucketKeys.plan(PIPELINE, runOf(1)))) store.objects.delete(key);
    expect((await repairGeneration(store, request)).problems).toEqual([
      expect.stringContaining('its plan is gone too'),
    ]);
  });
});

describe('a generation that is given up', () => {
  it.each([
    ['manifest', MANIFEST],
    ['shard', SHARD],
    ['nothing', ''],
  ])('lost its %s, and is packed again', async (_, lost) => {
    const store = await twoDrops();
    const before = await contents(store);
    store.objects.delete(lost);
    expect(await giveUp(store)).toMatchObject({ kind: 'pruned', generations: [runOf(1)] });
    expect((await current(store)).map(({ generation }) => generation)).toEqual([runOf(2)]);
    const rest = [...store.objects.keys()].filter((key) =>
      key.startsWith(bucketKeys.generation(PIPELINE, runOf(1))),
    );
    expect(rest).toEqual([]);
    await packAll(store, packing, runOf(3));
    expect(await contents(store)).toEqual(before);
    expect((await giveUp(store)).kind).toBe('pruned');
  });

  it('was joined from others, and is packed again', async () => {
    const store = await twoDrops();
    const before = await contents(store);
    const joined = await compactAll(store, packing);
    if (joined.status === 'nothingToCompact') throw new Error('nothing was joined');
    const { generation } = joined;
    await giveUp(store, generation);
    expect(await contents(store)).toEqual([]);
    await packAll(store, packing, runOf(3));
    expect(await contents(store)).toEqual(before);
  });

  it('is none that a declaration pins', async () => {
    const store = await twoDrops();
    expect(await giveUp(store, runOf(1), runOf(2))).toMatchObject({ kind: 'refused' });
    expect(await problemsOf(store)).toEqual([]);
  });

  it.each([
    ['its manifest', 'manifest.json'],
    ['its manifest and a shard', 'manifest.json', 'shards/shard-000000.tar'],
    ['nothing'],
  ])('lost %s, and what was retracted stays out', async (_, ...lost) => {
    const store = await twoDrops();
    const generation = await retract(store, 'a/1.jpg');
    const before = await contents(store);
    const folder = bucketKeys.generation(PIPELINE, generation);
    for (const name of lost) store.objects.delete(folder + name);
    for (const _time of ['first', 'again'])
      expect(await giveUp(store, generation)).toMatchObject({
        kind: 'pruned',
        retracted: 1,
        unread: [],
      });
    store.seed(`${incoming}a/1.jpg`, store.body(`${incoming}a/1.jpg`).toString(), 'copied');
    await packAll(store, packing, runOf(3));
    expect([...before, ...(await contents(store))].join()).not.toContain('a/1.jpg');
    expect(await contents(store)).toEqual(before);
  });

  it('needs neither its manifest nor its plan', async () => {
    const store = await twoDrops();
    const generation = await retract(store, 'a/1.jpg');
    const keys = packingKeys(PIPELINE, generation);
    store.objects.delete(keys.manifest);
    store.seed(keys.planCommit, '{');
    expect(await giveUp(store, generation)).toMatchObject({ kind: 'pruned', retracted: 1 });
  });

  it('is packed again after a run that listed it', async () => {
    const store = await twoDrops();
    const generation = await retract(store, 'a/1.jpg');
    const before = await contents(store);
    store.seed(`${incoming}folder/`, '');
    await packAll(store, packing, runOf(3));
    await giveUp(store, generation);
    await packAll(store, packing, runOf(4));
    expect(await contents(store)).toEqual(before);
  });

  it('names lists of retractions that are gone', async () => {
    const store = await twoDrops();
    const generation = await retract(store, 'a/1.jpg');
    const list = `${bucketKeys.generation(PIPELINE, generation)}arrivals/part-000000.jsonl.gz`;
    store.objects.delete(list);
    expect(await giveUp(store, generation)).toMatchObject({ retracted: 0, unread: [list] });
  });
});
