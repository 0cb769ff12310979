/** Promises about packing that no other test names. test/README.md lists the test of each promise. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  dropped,
  incoming,
  manifestOf,
  memberLines,
  now,
  PIPELINE,
  packAll,
  RUN,
  readTar,
  settings,
  unpack,
} from '../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../test/support/fakes/memory-blob-store.ts';
import { itemSchema } from '../documents/documents.ts';
import { assignSamples } from '../plan/assign-samples.ts';
import { planShards } from '../plan/plan-shards.ts';
import { sealDataset } from '../seal/seal-dataset.ts';
import { packItem } from '../shard/pack-item.ts';

/** The label of each sample by the key of its image. */
async function labelsOf(
  store: MemoryBlobStore,
  changes: Partial<PackingSettings>,
): Promise<Record<string, string>> {
  await packAll(store, settings(changes));
  const bodies = new Map<string, string>();
  for (const shard of store.keys(bucketKeys.shards(PIPELINE, RUN)))
    for (const { name, body } of await readTar(store.body(shard))) bodies.set(name, body.toString());
  const images = memberLines(store).filter(({ key }) => key?.endsWith('.jpg') === true);
  return Object.fromEntries(
    images.map(({ key = '', name }) => [
      key.slice(incoming.length),
      bodies.get(name.replace(/\.jpg$/, '.cls')) ?? 'none',
    ]),
  );
}

describe('labels', () => {
  const images = { 'train/cat/1.jpg': 'x', 'dog_2.jpg': 'y' };

  it('come from the parent folder', async () => {
    expect(await labelsOf(dropped(images), {})).toEqual({ 'train/cat/1.jpg': 'cat', 'dog_2.jpg': 'none' });
  });

  it('come from a pattern in the name', async () => {
    const changes = { label: 'namePattern', labelPattern: '([a-z]+)[_/]\\d' } as const;
    expect(await labelsOf(dropped(images), changes)).toEqual({
      'train/cat/1.jpg': 'cat',
      'dog_2.jpg': 'dog',
    });
  });

  it('come first from a file beside the sample', async () => {
    const store = dropped({ ...images, 'train/cat/1.cls': 'lion' });
    expect(await labelsOf(store, {})).toEqual({ 'train/cat/1.jpg': 'lion', 'dog_2.jpg': 'none' });
  });

  it.each([
    ['labels.csv', 'image,class\n"train/cat/1.jpg","a, b"\ndog_2,c\n'],
    ['labels.jsonl', '{"image":"train/cat/1.jpg","class":"a, b"}\n{"image":"dog_2","class":"c"}\n'],
  ])('come from a file of annotations: %s', async (file, rows) => {
    const store = dropped({ ...images, [file]: rows });
    const annotations = { file, key: 'image', label: 'class' };
    expect(await labelsOf(store, { label: 'annotations', annotations })).toEqual({
      'train/cat/1.jpg': 'a, b',
      'dog_2.jpg': 'c',
    });
  });
});

describe('keys', () => {
  it('that fold into one name are two members', async () => {
    // The member list holds both original keys.
    const folding = {
      'a/x.jpg': '1',
      'a/x.JPG': '2',
      'a/X.jpg': '3',
      'caf\u00e9.jpg': '4',
      'cafe\u0301.jpg': '5',
      'a:b.jpg': '6',
      'a*b.jpg': '7',
      'a_b.jpg': '8',
      'x.jpeg': '9',
      'x.jpg': '10',
    };
    const store = dropped(folding);
    await packAll(store, settings());
    const back = [...(await unpack(store))].map(([key, body]) => [
      key.slice(incoming.length),
      body.toString(),
    ]);
    expect(Object.fromEntries(back)).toEqual(folding);
    const names = memberLines(store).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('shards', () => {
  it('are 256 MB by default and at least 1', () => {
    expect(packingSchema.parse({}).shardMegabytes).toBe(256);
    expect(packingSchema.safeParse({ shardMegabytes: 1 }).success).toBe(true);
    expect(packingSchema.safeParse({ shardMegabytes: 0.9 }).success).toBe(false);
  });

  it('hold a shard-sized object alone', async () => {
    const small = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`${index}.bin`, 'small']));
    const store = dropped({ ...small, 'large.bin': Buffer.alloc(1_200_000, 1) });
    await packAll(store, settings({ shardMegabytes: 1, remainder: 'even', shardsMultipleOf: 2 }));
    const { shards } = manifestOf(store);
    expect(shards.map(({ samples }) => samples)).toEqual([10, 10, 1]);
    expect((await unpack(store)).size).toBe(21);
  });

  it('are shuffled across and within, by the seed', () => {
    const equal = { count: 1_000, bytesOf: () => 10, objectsOf: () => 1 };
    const assign = (seed: string) =>
      assignSamples(equal, { shardBytes: 1_000, seed, shuffle: true, multipleOf: 1, remainder: 'ragged' });
    const { shards, shardOf, slotOf } = assign('one');
    expect(shards).toBe(10);
    const ofFirst = new Set(shardOf.subarray(0, 100));
    expect(ofFirst.size).toBe(10);
    const inOne = [...slotOf].filter((_, ordinal) => shardOf[ordinal] === 0);
    expect(inOne).not.toEqual([...inOne].sort((a, b) => a - b));
    expect(assign('one').slotOf).toEqual(slotOf);
    expect(assign('two').slotOf).not.toEqual(slotOf);
  });
});

describe('the steps of a run', () => {
  it('pass references of a few hundred bytes', async () => {
    const store = new MemoryBlobStore();
    for (let index = 0; index < 1_000; index += 1)
      store.seed(`${incoming}${'a long folder/'.repeat(9)}${index}.jpg`, 'x');
    const packing = settings({ shardMegabytes: 0.3 });
    const input = { runId: RUN, pipeline: PIPELINE, packing };
    const handed: unknown[] = [await planShards({ store, now }, input)];
    const items = itemSchema
      .array()
      .parse(JSON.parse(store.body(bucketKeys.planItems(PIPELINE, RUN)).toString()));
    for (const item of items) handed.push(item, await packItem({ store }, { ...input, item }));
    handed.push(await sealDataset({ store }, input));
    expect(handed.length).toBeGreaterThan(3);
    for (const one of handed) expect(JSON.stringify(one).length).toBeLessThan(400);
  }, 30_000);

  it('pack items of bounded size, or one shard', () => {
    // At most 256 MB and 50,000 objects.
    const choice = fc.record({
      sizes: fc.array(fc.integer({ min: 1, max: 300_000_000 }), { minLength: 1, maxLength: 80 }),
      objects: fc.integer({ min: 1, max: 20_000 }),
      shardBytes: fc.constantFrom(1e6, 64e6, 256e6, 2e9),
    });
    fc.assert(
      fc.property(choice, ({ sizes, objects, shardBytes }) => {
        const samples = {
          count: sizes.length,
          bytesOf: (at: number) => sizes[at] ?? 0,
          objectsOf: () => objects,
        };
        const limits = { shardBytes, seed: 's', shuffle: true, multipleOf: 1, remainder: 'ragged' } as const;
        const { itemShards, shardOf } = assignSamples(samples, limits);
        for (const [item, first] of itemShards.slice(0, -1).entries()) {
          const end = itemShards[item + 1] ?? 0;
          const mine = sizes.filter((_, at) => (shardOf[at] ?? 0) >= first && (shardOf[at] ?? 0) < end);
          const bytes = mine.reduce((a, b) => a + b, 0);
          expect(end - first === 1 || (bytes <= 256e6 && mine.length * objects <= 50_000)).toBe(true);
        }
      }),
    );
  });
});
