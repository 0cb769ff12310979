/** Any call may fail before or after it takes effect. Any step may run twice, one after the other or concurrently. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { seededUint32 } from '@tidewheel/kit/seeded-random.ts';
import { describe, expect, it } from 'vitest';
import {
  incoming,
  PIPELINE,
  packAll,
  RUN,
  settings,
  unpack,
} from '../../../test/support/builders/packing.ts';
import { persist as retried } from '../../../test/support/fakes/faulty-blob-store.ts';
import { MemoryBlobStore } from '../../../test/support/fakes/memory-blob-store.ts';
import { readSealedManifest } from '../documents/sealed-arrivals.ts';
import { verifyGeneration } from '../verify/verify.ts';

/** A few in CI; set TIDEWHEEL_SEEDS to try hundreds. */
const SEEDS = Number(process.env['TIDEWHEEL_SEEDS'] ?? 15);

function filled(count = 24): MemoryBlobStore {
  const store = new MemoryBlobStore();
  const next = seededUint32('sizes');
  for (let index = 0; index < count; index += 1) {
    store.seed(`${incoming}${index % 3}/${index}.jpg`, Buffer.alloc(next() % 3_000, index));
    store.seed(`${incoming}${index % 3}/${index}.json`, JSON.stringify({ index }));
  }
  return store;
}

const sealedBytes = (store: MemoryBlobStore): Map<string, string> =>
  new Map(
    store.keys(bucketKeys.generation(PIPELINE, RUN)).map((key) => [key, store.body(key).toString('base64')]),
  );

/** As the state machine does. */
const persist = (store: MemoryBlobStore, packing: PackingSettings, seed: string): Promise<number> =>
  retried(store, seed, (faulty) => packAll(faulty, packing));

describe('killed at seeded points', () => {
  const packing = settings({ shardMegabytes: 0.02, require: [] });

  it('ends with the same sealed bytes', async () => {
    const calm = filled();
    await packAll(calm, packing);
    const expected = sealedBytes(calm);
    let restarts = 0;
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const store = filled();
      restarts += await persist(store, packing, `calm ${seed}`);
      expect(sealedBytes(store)).toEqual(expected);
    }
    expect(restarts).toBeGreaterThan(SEEDS);
  }, 60_000);

  it('seals one generation with two concurrent workers', async () => {
    const calm = filled();
    await packAll(calm, packing);
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const store = filled();
      await Promise.all([persist(store, packing, `left ${seed}`), persist(store, packing, `right ${seed}`)]);
      expect(sealedBytes(store)).toEqual(sealedBytes(calm));
    }
  }, 60_000);

  it('packs every arrival once while sources change', async () => {
    // Sources change and vanish between plan and pack.
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const store = filled();
      const next = seededUint32(`changes ${seed}`);
      const meddle = async (): Promise<void> => {
        for (let change = 0; change < 6; change += 1) {
          for (let turn = next() % 200; turn > 0; turn -= 1) await Promise.resolve();
          const key = `${incoming}${next() % 3}/${next() % 24}.jpg`;
          if (next() % 2 === 0) store.objects.delete(key);
          else store.seed(key, `changed ${change}`);
        }
      };
      await Promise.all([
        persist(store, packing, `one ${seed}`),
        persist(store, packing, `two ${seed}`),
        meddle(),
      ]);
      await packAll(store, packing, 'digits-000002');
      const both = [...(await unpack(store)), ...(await unpack(store, 'digits-000002'))];
      const held = new Map(both);
      for (const key of store.keys(incoming)) expect(held.get(key)).toEqual(store.body(key));
    }
  }, 60_000);

  it('seals balanced, even shards while sources change', async () => {
    const balanced = settings({
      shardMegabytes: 0.02,
      balance: 'over',
      remainder: 'even',
      shardsMultipleOf: 2,
    });
    const unequal = (): MemoryBlobStore => {
      const store = filled();
      for (const index of [0, 3, 6]) store.objects.delete(`${incoming}0/${index}.json`);
      for (const index of [1, 4, 7, 10]) {
        store.objects.delete(`${incoming}1/${index}.jpg`);
        store.objects.delete(`${incoming}1/${index}.json`);
      }
      return store;
    };
    const calm = unequal();
    await packAll(calm, balanced);
    for (let seed = 0; seed < Math.ceil(SEEDS / 4); seed += 1) {
      const store = unequal();
      await Promise.all([persist(store, balanced, `a ${seed}`), persist(store, balanced, `b ${seed}`)]);
      expect(sealedBytes(store)).toEqual(sealedBytes(calm));
      const changing = unequal();
      const meddle = async (): Promise<void> => {
        const next = seededUint32(`balanced ${seed}`);
        for (let change = 0; change < 6; change += 1) {
          for (let turn = next() % 200; turn > 0; turn -= 1) await Promise.resolve();
          changing.seed(`${incoming}${next() % 3}/${next() % 24}.jpg`, `changed ${change}`);
        }
      };
      await Promise.all([persist(changing, balanced, `c ${seed}`), meddle()]);
      const sealed = await readSealedManifest(changing, PIPELINE, RUN);
      if (sealed === undefined) throw new Error('nothing was sealed');
      expect((await verifyGeneration(changing, sealed)).problems).toEqual([]);
      expect(new Set(sealed.shards.map(({ samples }) => samples)).size).toBe(1);
    }
  }, 60_000);
});
