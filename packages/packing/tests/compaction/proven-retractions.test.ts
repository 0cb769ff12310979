/** `tidewheel data verify` proves by bytes that what was retracted is gone. */

import { hash } from 'node:crypto';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import { verifyAndPrint } from '../../../../cli/dataset/verify-report.ts';
import { current, incoming, runOf } from '../../../../test/support/builders/compaction.ts';
import {
  PIPELINE,
  packAll,
  planAndPack,
  SMALL,
  settings,
} from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { noteRetraction } from '../../arrivals/retractions.ts';
import { compact } from '../../compaction/compact.ts';
import { compress, decompress } from '../../documents/compressed-lines.ts';
import type { Manifest } from '../../documents/manifest.ts';
import { sealDataset } from '../../seal/seal-dataset.ts';
import { pruneGenerations } from '../../versions/prune-generations.ts';

const tar = settings({ shardMegabytes: 0.06 });

function put(store: MemoryBlobStore, files: Readonly<Record<string, string>>, etag?: string): void {
  for (const [key, body] of Object.entries(files)) store.seed(`${incoming}${key}`, body, etag);
}

const retract = (store: MemoryBlobStore, packing: PackingSettings, ...keys: string[]): Promise<unknown> =>
  compact(
    store,
    {
      pipeline: PIPELINE,
      packing,
      after: 'never',
      onChange: 'keep',
      retracted: new Set(keys.map((key) => incoming + key)),
    },
    { ...SMALL, readBytes: 1_000 },
  );

/** A run that planned before a retraction, and sealed after it, in earlier releases. */
async function overtaken(
  packing: PackingSettings,
  body = 'one',
  later: PackingSettings = packing,
): Promise<MemoryBlobStore> {
  const store = new MemoryBlobStore();
  store.keptSum = 'crc32';
  put(store, { 'a/1.txt': body, 'a/2.txt': 'two', 'b/3.txt': 'three' });
  await packAll(store, packing, runOf(1));
  put(store, { 'a/1.txt': body }, 'other-2');
  await planAndPack(store, later, runOf(2));
  await retract(store, packing, 'a/1.txt');
  for (const key of store.keys(bucketKeys.retractions(PIPELINE))) store.objects.delete(key);
  await sealDataset({ store }, { runId: runOf(2), pipeline: PIPELINE, packing: later });
  return store;
}

async function verified(store: MemoryBlobStore): Promise<{ code: number; text: string }> {
  const lines: string[] = [];
  const outcome = await verifyAndPrint(store, { pipeline: PIPELINE }, (line) => void lines.push(line));
  return { code: typeof outcome === 'number' ? outcome : outcome.code, text: lines.join('\n') };
}

const HELD =
  /digits-000002: 1 PROBLEM;[^✗]*✗ digits-000002\/shard-\S+ holds the bytes of "a\/1\.txt" that were retracted under the ETag "\w+": run tidewheel data retract s3:\/\/memory\/digits "a\/1\.txt"/;

const joined = async (store: MemoryBlobStore): Promise<Manifest[]> =>
  (await current(store)).filter(({ compacted }) => compacted !== undefined);

const folderOf = ({ generation }: Manifest): string => bucketKeys.generation(PIPELINE, generation);

async function retractedLists(store: MemoryBlobStore): Promise<string[]> {
  return (await joined(store)).flatMap((one) =>
    one.arrivals.parts.map(({ list }) => `${folderOf(one)}${list}`),
  );
}

/** As an earlier release joined generations. */
async function forgetSums(store: MemoryBlobStore): Promise<void> {
  for (const manifest of await joined(store)) {
    let text = store.body(bucketKeys.manifest(PIPELINE, manifest.generation)).toString();
    for (const { list, sha256 } of manifest.arrivals.parts) {
      const key = `${folderOf(manifest)}${list}`;
      const lines = decompress(store.body(key));
      expect(lines).toMatch(/"retracted","sha256 \w+"/);
      const without = lines.replaceAll(/"retracted","sha256 \w+"/g, '"retracted",null');
      store.seed(key, compress(without));
      text = text.replace(sha256, hash('sha256', without));
    }
    store.seed(bucketKeys.manifest(PIPELINE, manifest.generation), text);
  }
}

const pruneReplaced = (store: MemoryBlobStore): Promise<unknown> =>
  pruneGenerations(store, { pipeline: PIPELINE, what: 'replaced', pin: () => Promise.resolve(undefined) });

describe('bytes that were retracted under another ETag', () => {
  it.each<Partial<PackingSettings>>([{}, { format: 'tfrecord' }, { format: 'mds' }, { format: 'parquet' }])(
    'are found in a shard with %o',
    async (format) => {
      const packing = settings({ shardMegabytes: 0.06, ...format });
      const store = await overtaken(packing);
      expect(await verified(store)).toEqual({ code: 1, text: expect.stringMatching(HELD) });
      await retract(store, packing, 'a/1.txt');
      const { code, text } = await verified(store);
      expect(code).toBe(0);
      expect(text).toMatch(/2 retracted objects: no shard of the dataset holds the bytes under the key$/);
    },
  );

  it('are found where the store copied them', async () => {
    const packing = settings({ format: 'lines', shuffle: false });
    const store = await overtaken(packing, 'large\n'.repeat(2_000));
    expect(store.copiedBytes).toBeGreaterThan(0);
    expect((await verified(store)).text).toMatch(HELD);
  });

  it('are read where two sums cannot be compared', async () => {
    const packing = settings({ format: 'lines', shuffle: false });
    const store = await overtaken(packing, 'large\n'.repeat(2_000), { ...packing, reject: ['notText'] });
    expect((await verified(store)).text).toMatch(HELD);
  });

  it('are found where only the note says so', async () => {
    const store = new MemoryBlobStore();
    put(store, { 'a/1.txt': 'one', 'a/2.txt': 'two' });
    await packAll(store, tar, runOf(1));
    await noteRetraction(store, PIPELINE, [`${incoming}a/1.txt`]);
    const { code, text } = await verified(store);
    expect(code).toBe(1);
    expect(text).toContain(
      'digits-000001 holds "a/1.txt", which was retracted since it was planned: run tidewheel data compact s3://memory/digits',
    );
    await compact(store, { pipeline: PIPELINE, packing: tar, after: 'never', onChange: 'replace' });
    expect((await verified(store)).code).toBe(0);
  });

  it('are found of retractions of earlier releases', async () => {
    const store = await overtaken(tar);
    await forgetSums(store);
    expect((await verified(store)).text).toMatch(HELD);
  });

  it('are unknown once nothing has a sum', async () => {
    const store = new MemoryBlobStore();
    put(store, { 'a/1.txt': 'one', 'a/2.txt': 'two' });
    await packAll(store, tar, runOf(1));
    await retract(store, tar, 'a/1.txt');
    await forgetSums(store);
    await pruneReplaced(store);
    expect((await verified(store)).text).toMatch(/1 retracted object: .*; of 1 only the ETag is known$/);
  });

  it('may be more where a list is gone', async () => {
    const store = await overtaken(tar);
    const [list] = await retractedLists(store);
    store.objects.delete(list ?? '');
    const { code, text } = await verified(store);
    expect(code).toBe(1);
    expect(text).toMatch(/^more may have been retracted: .* is gone: restore it/m);
  });
});

describe('what a retraction does not speak of', () => {
  it('is named where other keys have the bytes', async () => {
    const store = new MemoryBlobStore();
    put(store, { 'a/1.txt': 'one', 'a/2.txt': 'two', 'b/twin.txt': 'one' });
    await packAll(store, tar, runOf(1));
    await retract(store, tar, 'a/1.txt');
    const { code, text } = await verified(store);
    expect(code).toBe(0);
    expect(text).toMatch(/other keys have retracted bytes, .*: b\/twin\.txt/);
  });

  it('is named where replaced shards hold it', async () => {
    const store = new MemoryBlobStore();
    put(store, { 'a/1.txt': 'one', 'a/2.txt': 'two' });
    await packAll(store, tar, runOf(1));
    expect((await verified(store)).text).not.toContain('retracted');
    await retract(store, tar, 'a/1.txt');
    expect((await verified(store)).text).toMatch(
      /digits-000001: intact;.*\n(?:.*\n)* {2}its shards hold retracted objects until .* --replaced: a\/1\.txt/,
    );
    await pruneReplaced(store);
    expect((await verified(store)).text).not.toContain('its shards hold');
  });
});
