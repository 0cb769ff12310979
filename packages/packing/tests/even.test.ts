/** Equal counts are promised of the sealed shards, not only of the plan. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  incoming,
  manifestOf,
  memberLines,
  PIPELINE,
  packAll,
  planAndPack,
  RUN,
  settings,
  unpack,
} from '../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../test/support/fakes/memory-blob-store.ts';
import { verifyGeneration } from '../verify/verify.ts';

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);
const even = (changes: Partial<PackingSettings> = {}) =>
  settings({ accept: ['.png'], remainder: 'even', shardsMultipleOf: 4, ...changes });

function filled(fakes: readonly boolean[], bytes = 10): MemoryBlobStore {
  const store = new MemoryBlobStore();
  for (const [index, isFake] of fakes.entries()) {
    const body = Buffer.concat([isFake ? Buffer.from('no picture at all') : PNG, Buffer.alloc(bytes, index)]);
    store.seed(`${incoming}${index % 3}/${String(index).padStart(3, '0')}.png`, body);
  }
  return store;
}

describe('even counts', () => {
  it.each(['webdataset', 'tfrecord', 'mds', 'parquet'] as const)(
    'hold in %s despite rejections during the read',
    async (format) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }),
          fc.constantFrom(10, 1_500),
          async (fakes, bytes) => {
            const store = filled(fakes, bytes);
            const result = await packAll(store, even({ format }));
            const good = fakes.filter((isFake) => !isFake).length;
            expect(result.rejected).toBe(fakes.length - good);
            if (good === 0) return;
            const manifest = manifestOf(store);
            expect(new Set(manifest.shards.map(({ samples }) => samples)).size).toBe(1);
            const sources = memberLines(store).filter(
              ({ key, repeat }) => key !== undefined && repeat === undefined,
            );
            expect(new Set(sources.map(({ key }) => key)).size).toBe(good);
            expect(sources).toHaveLength(good);
            expect((await verifyGeneration(store, manifest)).problems).toEqual([]);
          },
        ),
        { numRuns: 25 },
      );
    },
  );

  it('hold if samples change after the plan', async () => {
    // Every copy has its own name.
    const store = filled(Array.from({ length: 30 }, () => false));
    const input = even();
    const changing = new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (name !== 'createUpload' || typeof value !== 'function')
          return typeof value === 'function' ? value.bind(target) : value;
        for (const index of [4, 5, 6, 17])
          target.seed(`${incoming}${index % 3}/${String(index).padStart(3, '0')}.png`, 'changed');
        return value.bind(target);
      },
    });
    await packAll(changing, input);
    const manifest = manifestOf(store);
    expect(manifest.arrivals.deferred).toBe(4);
    expect(manifest.shards.map(({ samples }) => samples)).toEqual([8, 8, 8, 8]);
    const names = memberLines(store).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect((await unpack(store)).size).toBe(26);
  });

  it('are checked by the seal and by verify', async () => {
    const store = filled(Array.from({ length: 10 }, () => false));
    await planAndPack(store, even());
    const [record] = store.keys(bucketKeys.plan(PIPELINE, RUN)).filter((key) => key.includes('/done-'));
    const forged = store
      .body(record ?? '')
      .toString()
      .replace('"samples":3', '"samples":2');
    store.seed(record ?? '', forged);
    await expect(packAll(store, even())).rejects.toThrow(/holds 2 samples, not 3/);
    const other = filled(Array.from({ length: 10 }, () => false));
    await packAll(other, even());
    const manifest = manifestOf(other);
    const shards = manifest.shards.map((shard, index) => (index === 0 ? { ...shard, samples: 2 } : shard));
    expect((await verifyGeneration(other, { ...manifest, shards })).problems.join()).toMatch(/the others 3/);
  });
});
