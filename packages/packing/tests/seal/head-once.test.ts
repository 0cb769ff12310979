import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { expect, it } from 'vitest';
import { PIPELINE, planAndPack, RUN, settings } from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { sealDataset } from '../../seal/seal-dataset.ts';

const packing = settings();
const incoming = bucketKeys.incoming(PIPELINE);

async function packed(): Promise<MemoryBlobStore> {
  const store = new MemoryBlobStore();
  store.seed(`${incoming}a.jpg`, 'one');
  store.seed(`${incoming}b.jpg`, 'two');
  await planAndPack(store, packing);
  return store;
}

it('a seal asks for each shard once', async () => {
  const store = await packed();
  const asked: string[] = [];
  const head = store.head.bind(store);
  store.head = (key) => {
    asked.push(key);
    return head(key);
  };
  const { shards } = await sealDataset({ store }, { runId: RUN, pipeline: PIPELINE, packing });
  expect(shards).toBe(1);
  expect(asked).toHaveLength(1);
});
