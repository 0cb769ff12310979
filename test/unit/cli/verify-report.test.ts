/** What `tidewheel data verify` says, of generations packed into the in-memory store. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { type Manifest, manifestSchema } from '@tidewheel/packing/dataset.ts';
import { verifyGeneration } from '@tidewheel/packing/maintain.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifyAndPrint } from '../../../cli/dataset/verify-report.ts';
import { PIPELINE, packAll, RUN, settings } from '../../support/builders/packing.ts';
import { MemoryBlobStore } from '../../support/fakes/memory-blob-store.ts';

const incoming = bucketKeys.incoming(PIPELINE);

function filled(classes: Readonly<Record<string, number>>): MemoryBlobStore {
  const store = new MemoryBlobStore();
  for (const [name, count] of Object.entries(classes))
    for (let index = 0; index < count; index += 1)
      store.seed(`${incoming}${name}/${index}.jpg`, Buffer.alloc(300 + index, name));
  return store;
}

const manifestOf = (store: MemoryBlobStore): Manifest =>
  manifestSchema.parse(JSON.parse(store.body(bucketKeys.manifest(PIPELINE, RUN)).toString()));

async function said(store: MemoryBlobStore): Promise<{ code: number; text: string }> {
  const lines: string[] = [];
  const outcome = await verifyAndPrint(store, { pipeline: PIPELINE }, (line) => void lines.push(line));
  const code = typeof outcome === 'number' ? outcome : outcome.code;
  return { code, text: `${lines.join('\n')}\n` };
}

describe('the report of a verified generation', () => {
  it('shows each class before and after balancing', async () => {
    const store = filled({ cat: 4, dog: 12 });
    await packAll(
      store,
      settings({ balance: 'over', remainder: 'even', shardsMultipleOf: 4, shardMegabytes: 0.005 }),
    );
    const { code, text } = await said(store);
    expect(code).toBe(0);
    expect(text).toMatch(/digits-000001: intact; /);
    expect(text).toMatch(/\d+ shards of (\d+) samples each, \d+ for each of 4 workers/);
    expect(text).toMatch(/class "cat": 4 arrived, 12 planned, 4 in shards and \d+ copies/);
    expect(text).toMatch(/class "dog": 12 arrived, 12 planned, 12 in shards/);
  });

  it('counts one problem as one', async () => {
    const store = filled({ cat: 4 });
    await packAll(store, settings());
    store.objects.delete(`${bucketKeys.generation(PIPELINE, RUN)}index/shard-000000.idx`);
    expect(await said(store)).toMatchObject({ code: 1, text: expect.stringMatching(/: 1 PROBLEM; /) });
  });

  it('tells what an under-sampled class gave up', async () => {
    const store = filled({ cat: 4, dog: 12 });
    await packAll(store, settings({ balance: 'under' }));
    const { text } = await said(store);
    expect(text).toMatch(/class "dog": 12 arrived, 4 planned, 4 in shards/);
    expect(text).toMatch(/8 rejected \(8 balancedOut\)/);
  });

  it('tells classes without a balance, and how counts differ', async () => {
    const store = filled({ cat: 3, dog: 4 });
    await packAll(store, settings({ shardMegabytes: 0.005, shuffle: false }));
    const { text } = await said(store);
    expect(text).toMatch(/class "cat": 3 in shards\n/);
    expect(text).toMatch(/shards of \d to \d samples\n/);
  });

  it('explains shards that do not divide evenly', async () => {
    const store = filled({ cat: 3 });
    await packAll(store, settings({ shardsMultipleOf: 4 }));
    expect((await said(store)).text).toMatch(/3 shards .* do not divide among 4 workers \(too few samples/);
  });

  it('names a class with other samples than sealed', async () => {
    const store = filled({ cat: 4, dog: 12 });
    await packAll(store, settings({ balance: 'over' }));
    const manifest = manifestOf(store);
    expect(manifest.balance?.classes['cat']).toEqual({ samples: 4, planned: 12, sealed: 12 });
    const classes = { ...manifest.balance?.classes, cat: { samples: 4, planned: 12, sealed: 11 } };
    const forged: Manifest = { ...manifest, balance: { mode: 'over', classes } };
    expect((await verifyGeneration(store, forged)).problems).toEqual([
      'the shards hold 12 samples of the class "cat", the manifest says 11',
    ]);
  });

  it('counts an unreadable manifest and goes on', async () => {
    const store = filled({ cat: 4 });
    await packAll(store, settings());
    store.seed(`${incoming}cat/late.jpg`, 'late');
    await packAll(store, settings(), 'digits-000002');
    store.seed(bucketKeys.manifest(PIPELINE, RUN), '{"version":1');
    const { code, text } = await said(store);
    expect(code).toBe(1);
    expect(text).toContain(`${RUN}: 1 PROBLEM`);
    expect(text).toContain(`✗ ${bucketKeys.manifest(PIPELINE, RUN)} is damaged: restore it`);
    expect(text).toMatch(/digits-000002: intact; 1 shard, 2 members/);
  });

  it('ends with 1 and names the fault', async () => {
    const store = filled({ cat: 4 });
    await packAll(store, settings());
    const [key = ''] = store.keys(bucketKeys.shards(PIPELINE, RUN));
    const held = store.objects.get(key);
    const body = Buffer.from(store.body(key));
    body.write('X', 1_540);
    store.objects.set(key, { body, etag: held?.etag ?? '' });
    const { code, text } = await said(store);
    expect(code).toBe(1);
    expect(text).toMatch(/✗ shard-000000\.tar holds other bytes for "cat\/\d\.jpg" than were packed/);
  });
});

describe('the number of shards', () => {
  it.each(['even', 'drop', 'ragged'] as const)(
    'is a multiple of workers, remainder %s',
    async (remainder) => {
      const choice = fc.record({
        workers: fc.integer({ min: 2, max: 6 }),
        count: fc.integer({ min: 12, max: 60 }),
      });
      await fc.assert(
        fc.asyncProperty(choice, async ({ workers, count }) => {
          const store = filled({ a: count });
          await packAll(store, settings({ remainder, shardsMultipleOf: workers, shardMegabytes: 0.006 }));
          const { shards, arrivals, repeated } = manifestOf(store);
          expect(shards.length % workers).toBe(0);
          const counts = shards.map(({ samples }) => samples);
          const spread = Math.max(...counts) - Math.min(...counts);
          expect(spread).toBeLessThanOrEqual(remainder === 'ragged' ? 1 : 0);
          expect(arrivals.deferred).toBe(remainder === 'drop' ? count % shards.length : 0);
          expect(counts.reduce((a, b) => a + b, 0)).toBe(count - arrivals.deferred + repeated);
        }),
        { numRuns: 15 },
      );
    },
  );
});
