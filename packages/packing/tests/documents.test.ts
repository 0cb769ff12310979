/** Every stored document has a version. A reader refuses another version and a damaged document, with the remedy. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { RELEASE } from '@tidewheel/kit/stored.ts';
import { describe, expect, it } from 'vitest';
import { packedInDrops, runOf } from '../../../test/support/builders/compaction.ts';
import { PIPELINE, settings } from '../../../test/support/builders/packing.ts';
import type { MemoryBlobStore } from '../../../test/support/fakes/memory-blob-store.ts';
import { planCompaction, readCompactionPlan } from '../compaction/plan-compaction.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { readSealedManifest } from '../documents/sealed-arrivals.ts';
import { blobVersions, newestVersion } from '../documents/versions.ts';
import { finishedShard } from '../shard/commit-shard.ts';

const packing = settings();
const { manifest } = packingKeys(PIPELINE, runOf(1));

interface Stored {
  readonly key: string;
  readonly read: () => Promise<unknown>;
}

async function compactionPlan(store: MemoryBlobStore): Promise<Stored> {
  const { generation } = await planCompaction(store, { pipeline: PIPELINE, packing, after: 2 });
  const key = packingKeys(PIPELINE, generation).planCommit;
  return { key, read: () => readCompactionPlan(store, PIPELINE, generation) };
}

function shardRecord(store: MemoryBlobStore): Stored {
  const records = store.keys(bucketKeys.plan(PIPELINE, runOf(1))).filter((name) => name.includes('/done-'));
  const [key = ''] = records;
  return { key, read: async () => (await finishedShard(store, key))?.record };
}

const DOCUMENTS: Readonly<Record<string, (store: MemoryBlobStore) => Stored | Promise<Stored>>> = {
  manifest: (store) => ({ key: manifest, read: () => readSealedManifest(store, PIPELINE, runOf(1)) }),
  'shard record': shardRecord,
  'dataset version': (store) => ({
    key: bucketKeys.datasetVersion(PIPELINE, 2),
    read: () => newestVersion(blobVersions(store), PIPELINE),
  }),
  'compaction plan': compactionPlan,
};

describe.each(Object.entries(DOCUMENTS))('a stored %s', (_name, documentIn) => {
  const packed = () => packedInDrops([{ 'a.txt': 'a' }, { 'b.txt': 'b' }], packing);

  it('is read', async () => {
    const { read } = await documentIn(await packed());
    expect(await read()).toMatchObject({ version: 1 });
  });

  it('of another version is refused with the remedy', async () => {
    const store = await packed();
    const { key, read } = await documentIn(store);
    const document = JSON.parse(store.body(key).toString()) as object;
    store.seed(key, JSON.stringify({ ...document, version: 2 }));
    await expect(read()).rejects.toThrow(
      `${key} has version 2, and release ${RELEASE} reads version 1: use the release that wrote it`,
    );
  });

  it.each(['{}', '{"version":1}', 'no JSON'])('is refused when it is %s', async (text) => {
    const store = await packed();
    const { key, read } = await documentIn(store);
    store.seed(key, text);
    await expect(read()).rejects.toThrow(`${key} is damaged: restore it`);
  });
});
