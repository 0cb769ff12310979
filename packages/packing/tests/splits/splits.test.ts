/** Splits: which samples train and which measure, for good. */

import { type SplitSettings, splitSchema } from '@tidewheel/declaration/packing-settings.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  incoming,
  manifestOf,
  memberLines,
  packAll,
  RUN,
  settings,
} from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { SplitRule, splitOfShard } from '../../splits/split-rule.ts';
import { verifyGeneration } from '../../verify/verify.ts';

const BY_KEY = splitSchema.parse({ train: 0.6, validation: 0.3, test: 0.1 });
const BY_GROUP = splitSchema.parse({ train: 0.5, validation: 0.5, by: 'group', groupPattern: '^([^/]+)/' });

/** The split of each key in the sealed shards, as their folders say. */
function splitsIn(store: MemoryBlobStore, run = RUN): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  const { shards } = manifestOf(store, run);
  const lines = memberLines(store, run);
  let next = 0;
  for (const { name, members } of shards)
    for (let count = 0; count < members; count += 1) {
      const { key } = lines[next] ?? {};
      next += 1;
      if (key === undefined) continue;
      const known = found.get(key) ?? new Set();
      found.set(key, known.add(splitOfShard(name) ?? 'none'));
    }
  return found;
}

const groupOf = (key: string, { by }: SplitSettings): string =>
  by === 'group'
    ? (key.slice(incoming.length).split('/')[0] ?? '').normalize('NFC')
    : (key.split('.')[0] ?? '');

const drop = fc.array(
  fc.record({
    group: fc.constantFrom('anna', 'bob', 'cleo', 'josé', 'jose\u0301', 'd'),
    name: fc.integer({ min: 0, max: 40 }),
    suffixes: fc.subarray(['png', 'json', 'seg.png'], { minLength: 1 }),
  }),
  { minLength: 1, maxLength: 40 },
);

function seed(
  store: MemoryBlobStore,
  samples: readonly { group: string; name: number; suffixes: string[] }[],
) {
  for (const { group, name, suffixes } of samples)
    for (const suffix of suffixes)
      store.seed(`${incoming}${group}/${name}.${suffix}`, Buffer.from(`${group} ${name} ${suffix}`));
}

describe('a split', () => {
  it('follows from the key alone, in the declared shares', () => {
    const rule = new SplitRule(BY_KEY);
    const counts = { train: 0, validation: 0, test: 0 };
    for (let index = 0; index < 20_000; index += 1) counts[rule.of(`a/${index}.jpg`) ?? 'train'] += 1;
    expect(counts.train / 20_000).toBeCloseTo(0.6, 1);
    expect(counts.validation / 20_000).toBeCloseTo(0.3, 1);
    expect(counts.test / 20_000).toBeCloseTo(0.1, 1);
    expect(rule.of('a/1.jpg')).toBe(rule.of('a/1.seg.png'));
  });

  // A release that hashed otherwise would move samples of every dataset.
  it('of a key is the same in every release', () => {
    const rule = new SplitRule(splitSchema.parse({ train: 0.5, validation: 0.5 }));
    const splits = Array.from({ length: 12 }, (_, index) => rule.of(`cats/${index}.jpg`)?.charAt(0)).join('');
    expect(splits).toMatchInlineSnapshot(`"ttvvvtvtvttv"`);
  });

  it.each(['webdataset', 'tfrecord', 'mds', 'parquet', 'recordio'] as const)(
    'in %s holds each sample and group once',
    async (format) => {
      await fc.assert(
        fc.asyncProperty(
          drop,
          fc.constantFrom<SplitSettings>(BY_KEY, BY_GROUP),
          fc.constantFrom('ragged', 'even', 'drop' as const),
          async (samples, split, remainder) => {
            const store = new MemoryBlobStore();
            seed(store, samples);
            const label = format === 'recordio' ? 'none' : 'parentFolder';
            const { shards } = await packAll(
              store,
              settings({ format, split, remainder, label, shardsMultipleOf: 2, require: [] }),
            );
            if (shards === 0) return;
            const manifest = manifestOf(store);
            expect((await verifyGeneration(store, manifest)).problems).toEqual([]);
            const groups = new Map<string, Set<string>>();
            for (const [key, found] of splitsIn(store)) {
              expect(found.size).toBe(1);
              const group = groupOf(key, split);
              groups.set(group, new Set([...(groups.get(group) ?? []), ...found]));
            }
            for (const found of groups.values()) expect(found.size).toBe(1);
            expect(manifest.splits?.reduce((sum, one) => sum + one.samples, 0)).toBe(manifest.samples);
          },
        ),
        { numRuns: 15 },
      );
    },
  );
});
