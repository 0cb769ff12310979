/** Compactors are killed, work concurrently, and race with seals. No arrival is lost, doubled or half packed. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { seededUint32 } from '@tidewheel/kit/seeded-random.ts';
import { describe, expect, it } from 'vitest';
import {
  type Arrivals,
  accounts,
  compactAll,
  contents,
  current,
  incoming,
  packedInDrops,
  problems,
  runOf,
} from '../../../../test/support/builders/compaction.ts';
import { PIPELINE, packAll, settings } from '../../../../test/support/builders/packing.ts';
import { persist } from '../../../../test/support/fakes/faulty-blob-store.ts';
import type { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';

/** A few in CI; set TIDEWHEEL_SEEDS to try hundreds. */
const SEEDS = Number(process.env['TIDEWHEEL_SEEDS'] ?? 5);
const packing = settings({ shardMegabytes: 0.06 });

const drop = (batch: number): Arrivals =>
  Object.fromEntries(
    Array.from({ length: 5 }, (_, index) => [
      `${index % 2}/${batch}-${index}.jpg`,
      Buffer.alloc(index * 300, batch),
    ]),
  );
const filled = () => packedInDrops([1, 2, 3, 4].map(drop), packing);

const compacting = (store: MemoryBlobStore, seed: string, settingsOf: PackingSettings = packing) =>
  persist(store, seed, (faulty) => compactAll(faulty, settingsOf));

const datasetBytes = (store: MemoryBlobStore): Map<string, string> =>
  new Map(
    store
      .keys(bucketKeys.dataset(PIPELINE))
      .filter((key) => !key.includes('/plan/'))
      .map((key) => [key, store.body(key).toString('base64')]),
  );

describe('compactors killed at seeded points', () => {
  it('give the same bytes and versions', async () => {
    // One compactor alone, and two concurrent ones.
    const calm = await filled();
    const before = await contents(calm);
    await compactAll(calm, packing);
    let restarts = 0;
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const store = await filled();
      restarts += await compacting(store, `one ${seed}`);
      expect(datasetBytes(store)).toEqual(datasetBytes(calm));
      const both = await filled();
      await Promise.all([compacting(both, `left ${seed}`), compacting(both, `right ${seed}`)]);
      expect(datasetBytes(both)).toEqual(datasetBytes(calm));
    }
    expect(restarts).toBeGreaterThan(SEEDS);
    expect(await contents(calm)).toEqual(before);
  }, 60_000);

  it('keep every arrival beside other runs and compactors', async () => {
    // Runs seal and other compactors choose other inputs at the same time.
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const store = await filled();
      const next = seededUint32(`together ${seed}`);
      const pause = async (): Promise<void> => {
        for (let turn = next() % 400; turn > 0; turn -= 1) await Promise.resolve();
      };
      const runs = async (): Promise<void> => {
        for (const batch of [5, 6, 7]) {
          await pause();
          for (const [key, body] of Object.entries(drop(batch))) store.seed(`${incoming}${key}`, body);
          await persist(store, `run ${batch} ${seed}`, (faulty) => packAll(faulty, packing, runOf(batch)));
        }
      };
      const other = settings({ shardMegabytes: 0.06, seed: 7 });
      await Promise.all([
        runs(),
        compacting(store, `a ${seed}`),
        pause().then(() => compacting(store, `b ${seed}`)),
        pause().then(() => compacting(store, `c ${seed}`, other)),
      ]);
      const everything = await packedInDrops([1, 2, 3, 4, 5, 6, 7].map(drop), packing);
      expect(await contents(store)).toEqual(await contents(everything));
      expect(await accounts(store)).toEqual(await accounts(everything));
      expect(await problems(store)).toEqual([]);
      await compacting(store, `after ${seed}`);
      expect(await contents(store)).toEqual(await contents(everything));
      expect((await current(store)).length).toBeLessThan(7);
      expect(await packAll(store, packing, runOf(8))).toMatchObject({ shards: 0, rejected: 0 });
    }
  }, 60_000);
});
