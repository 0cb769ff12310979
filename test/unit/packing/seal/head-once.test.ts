import { expect, it } from 'vitest';
import { sealDataset } from '../../../../functions/core/packing/seal/seal-dataset.ts';
import { bucketKeys } from '../../../../functions/core/shared/keys.ts';
import { PIPELINE, planAndPack, RUN, settings } from '../../../support/builders/packing.ts';
import { MemoryBlobStore } from '../../../support/fakes/memory-blob-store.ts';

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
