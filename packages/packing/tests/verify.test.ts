import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { seededUint32 } from '@tidewheel/kit/seeded-random.ts';
import { describe, expect, it } from 'vitest';
import {
  incoming,
  manifestOf,
  PIPELINE,
  packAll,
  RUN,
  settings,
} from '../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../test/support/fakes/memory-blob-store.ts';
import { listGenerations } from '../documents/sealed-arrivals.ts';
import { verifyGeneration } from '../verify/verify.ts';

const FORMATS: readonly (readonly [string, Partial<PackingSettings>])[] = [
  ['webdataset', { format: 'webdataset' }],
  ['tfrecord', { format: 'tfrecord' }],
  ['tfrecord in gzip', { format: 'tfrecord', tfrecord: { compression: 'gzip' } }],
  ['recordio', { format: 'recordio' }],
  ['mds', { format: 'mds' }],
  ['parquet', { format: 'parquet' }],
  ['lines', { format: 'lines' }],
];

async function packed(changes: Partial<PackingSettings> = {}): Promise<MemoryBlobStore> {
  const store = new MemoryBlobStore();
  for (let index = 0; index < 30; index += 1)
    store.seed(`${incoming}${index % 3}/${index}.jpg`, Buffer.alloc(index * 31, index + 1));
  await packAll(store, settings({ shardMegabytes: 0.01, ...changes }));
  return store;
}

const verify = (store: MemoryBlobStore) => verifyGeneration(store, manifestOf(store));

/** Replaces the bytes but not the ETag, as disk damage would. */
function damage(store: MemoryBlobStore, key: string, change: (body: Buffer) => void): void {
  const held = store.objects.get(key);
  const body = Buffer.from(store.body(key));
  change(body);
  store.objects.set(key, { body, etag: held?.etag ?? '' });
}

describe('verifying a generation', () => {
  it.each(FORMATS)('detects any flipped byte in %s', async (_name, changes) => {
    const store = await packed(changes);
    const shards = store.keys(bucketKeys.shards(PIPELINE, RUN));
    const next = seededUint32('flips');
    for (let flip = 0; flip < 40; flip += 1) {
      const key = shards[next() % shards.length] ?? '';
      const at = next() % store.body(key).length;
      const flipByte = (body: Buffer): void =>
        void body.writeUInt8(body.readUInt8(at) ^ (1 + (next() % 255)), at);
      const before = store.objects.get(key);
      damage(store, key, flipByte);
      const { problems } = await verify(store);
      expect(problems.length).toBeGreaterThan(0);
      if (before !== undefined) store.objects.set(key, before);
    }
  });

  it('reports a missing shard once', async () => {
    // A rewritten shard is read, which shows where it differs.
    const store = await packed();
    const [key = ''] = store.keys(bucketKeys.shards(PIPELINE, RUN));
    const body = store.body(key);
    store.objects.delete(key);
    expect((await verify(store)).problems).toEqual(['shard-000000.tar is missing']);
    store.objects.set(key, { body, etag: 'restored' });
    expect((await verify(store)).problems).toEqual([
      expect.stringMatching(
        /^shard-000000\.tar is not the object that was sealed: \d+ bytes with ETag restored, not /,
      ),
    ]);
    store.objects.set(key, { body: Buffer.from(body).fill(7, 512, 515), etag: 'changed' });
    expect((await verify(store)).problems.join()).toMatch(
      /ETag changed.*(other bytes for|wrong header for) "/,
    );
  });

  it.each([
    ['webdataset', 'index/shard-000000.idx'],
    ['recordio', 'index/shard-000001.idx'],
    ['mds', 'index.json'],
    ['mds', 'shards/index.json'],
  ] as const)('detects in %s a missing or wrong %s', async (format, name) => {
    const store = await packed({ format });
    const key = `${bucketKeys.generation(PIPELINE, RUN)}${name}`;
    const body = store.body(key).toString();
    for (const other of [
      body.replace(/\d(?=\D*$)/, (digit) => (digit === '0' ? '1' : '0')),
      body.slice(0, -5),
      '',
    ]) {
      store.seed(key, other);
      expect((await verify(store)).problems).toEqual([`${name} does not match the shards`]);
    }
    store.objects.delete(key);
    expect((await verify(store)).problems).toEqual([expect.stringContaining(`${name} is missing`)]);
  });

  it('detects strays among the shards', async () => {
    // Training would read them as shards.
    const store = await packed();
    store.seed(`${bucketKeys.shards(PIPELINE, RUN)}shard-000000.tar.bak`, 'x');
    expect((await verify(store)).problems).toEqual([
      '"shard-000000.tar.bak" lies among the shards but is none: delete it',
    ]);
  });

  it('reports an unreadable list once', async () => {
    // The shard of the list is still read.
    for (const [folder, problem] of [
      ['members/', 'is not the list that was sealed'],
      ['arrivals/', 'is not the list that was sealed'],
    ] as const) {
      const store = await packed();
      const [key = ''] = store.keys(`${bucketKeys.generation(PIPELINE, RUN)}${folder}`);
      store.seed(key, 'x');
      const { problems, bytes } = await verify(store);
      expect(problems).toEqual([`${key.slice(bucketKeys.generation(PIPELINE, RUN).length)} ${problem}`]);
      const shards = store.keys(bucketKeys.shards(PIPELINE, RUN));
      expect(bytes).toBe(shards.reduce((sum, shard) => sum + store.body(shard).length, 0));
      damage(store, shards[0] ?? '', (body) => void body.writeUInt8(body.readUInt8(700) ^ 1, 700));
      expect((await verify(store)).problems.join()).toMatch(/shard-000000\.tar has CRC-32/);
    }
  });

  it('prints keys on one line, left to right', async () => {
    const store = await packed();
    store.seed(`${bucketKeys.shards(PIPELINE, RUN)}\u202egnp.exe\u009b2J\n`, 'x');
    expect((await verify(store)).problems.join()).toBe(
      '"\\u{202e}gnp.exe\\u{9b}2J\\n" lies among the shards but is none: delete it',
    );
  });

  it('reports a deleted manifest that a version names', async () => {
    const store = await packed();
    await packAll(store, settings(), 'digits-000002');
    const manifest = bucketKeys.manifest(PIPELINE, RUN);
    store.objects.delete(manifest);
    expect(await listGenerations(store, PIPELINE)).toMatchObject([
      { name: 'ManifestError', generation: RUN },
    ]);
    store.seed(`${incoming}later.jpg`, 'x');
    await expect(packAll(store, settings(), 'digits-000003')).rejects.toThrow(
      `${manifest} is gone: restore it`,
    );
  });

  it('reports a manifest that cannot be read', async () => {
    // No later run can be planned without it.
    const store = await packed();
    for (const text of ['{"version":1', '{"version":1}']) {
      store.seed(bucketKeys.manifest(PIPELINE, RUN), text);
      await expect(packAll(store, settings(), 'digits-000002')).rejects.toThrow(
        `${bucketKeys.manifest(PIPELINE, RUN)} is damaged: restore it`,
      );
    }
  });

  it.each(['members/', 'arrivals/'])('detects a missing list of %s', async (folder) => {
    const store = await packed();
    store.objects.delete(store.keys(`${bucketKeys.generation(PIPELINE, RUN)}${folder}`)[0] ?? '');
    expect((await verify(store)).problems.join()).toMatch(/missing/);
  });
});
