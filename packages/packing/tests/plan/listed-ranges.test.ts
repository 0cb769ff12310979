/** A plan reads the sealed lists only where the listing changed, and plans what it would plan without that. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import * as fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { accounts, compactAll, incoming, runOf } from '../../../../test/support/builders/compaction.ts';
import { now, PIPELINE, packAll, planAndPack, settings } from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { watched } from '../../../../test/support/fakes/misbehaving-store.ts';
import type { BlobStore } from '../../documents/blob-store.ts';
import { MultisetHash } from '../../documents/multiset-hash.ts';
import { packingKeys } from '../../documents/packing-keys.ts';
import { readSealedManifest } from '../../documents/sealed-arrivals.ts';
import { RangeCollector } from '../../plan/listed-ranges.ts';
import { planShards } from '../../plan/plan-shards.ts';

const RANGE = 3;

function copyOf(store: MemoryBlobStore, except: (key: string) => boolean): MemoryBlobStore {
  const copy = new MemoryBlobStore();
  for (const [key, held] of store.objects) if (!except(key)) copy.objects.set(key, held);
  return copy;
}

/** Notes reads of sealed lists of arrivals. */
const counting = (store: MemoryBlobStore, read: string[]): BlobStore =>
  watched(store, (name, [key]) => {
    if (name === 'get' && typeof key === 'string' && key.includes('/arrivals/')) read.push(key);
  });

interface Planned {
  readonly digest: string;
  readonly objects: number;
  /** Keys of the sealed lists that were read. */
  readonly read: readonly string[];
}

/** Plans in small ranges. */
async function planned(store: MemoryBlobStore, batch: number, packing: PackingSettings): Promise<Planned> {
  const read: string[] = [];
  const given = { runId: runOf(batch), pipeline: PIPELINE, packing };
  const { objects } = await planShards({ store: counting(store, read), now, rangeObjects: RANGE }, given);
  const { digest } = JSON.parse(store.body(packingKeys(PIPELINE, runOf(batch)).planCommit).toString()) as {
    digest: string;
  };
  return { digest, objects, read };
}

const isListedRanges = (key: string): boolean => key.endsWith('/listed-ranges.json.zst');

type Change =
  | { readonly kind: 'put'; readonly name: number; readonly body: number }
  | { readonly kind: 'delete'; readonly name: number };

const name = fc.integer({ min: 0, max: 40 });
const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('put' as const), name, body: fc.integer({ min: 0, max: 2 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), name }) },
);

function apply(store: MemoryBlobStore, changes: readonly Change[]): void {
  for (const each of changes) {
    const key = `${incoming}${String(each.name).padStart(2, '0')}.jpg`;
    if (each.kind === 'put') store.seed(key, `${each.name} ${each.body}`);
    else store.objects.delete(key);
  }
}

/** One run: what arrives before it, and while it packs; whether it is sealed; what happens after it. */
const turn = fc.record({
  before: fc.array(change, { maxLength: 12 }),
  during: fc.array(change, { maxLength: 3 }),
  seals: fc.boolean(),
  after: fc.constantFrom('nothing', 'nothing', 'compaction', 'lost plans', 'damaged ranges'),
});

async function afterwards(store: MemoryBlobStore, after: string, packing: PackingSettings): Promise<void> {
  if (after === 'compaction') await compactAll(store, packing);
  for (const key of store.keys(bucketKeys.runs(PIPELINE))) {
    if (after === 'lost plans') store.objects.delete(key);
    if (after === 'damaged ranges' && isListedRanges(key)) store.seed(key, store.body(key).subarray(0, 40));
  }
}

describe('a plan that knows what earlier plans listed', () => {
  it.each(['ragged', 'drop'] as const)(
    'plans as one that reads everything, %s',
    async (remainder) => {
      const packing = settings({ label: 'none', require: [], remainder, shardsMultipleOf: 3 });
      await fc.assert(
        fc.asyncProperty(fc.array(turn, { minLength: 2, maxLength: 6 }), async (turns) => {
          const store = new MemoryBlobStore();
          for (const [index, { before, during, seals, after }] of turns.entries()) {
            const batch = index + 1;
            apply(store, before);
            const unaware = copyOf(store, isListedRanges);
            const known = await planned(store, batch, packing);
            expect(known).toMatchObject({ digest: (await planned(unaware, batch, packing)).digest });
            apply(store, during);
            if (seals) await packAll(store, packing, runOf(batch));
            else await planAndPack(store, packing, runOf(batch));
            await afterwards(store, after, packing);
          }
          const sealed = await accounts(store);
          expect(new Set(sealed).size).toBe(sealed.length);
        }),
        { numRuns: 15 },
      );
    },
    60_000,
  );
});

describe('a plan after a seal', () => {
  const packing = settings({ label: 'none', require: [] });
  let store: MemoryBlobStore;

  beforeEach(async () => {
    store = new MemoryBlobStore();
    for (let at = 0; at < 60; at += 1) store.seed(`${incoming}${String(at).padStart(3, '0')}.jpg`, `${at}`);
    await planned(store, 1, packing);
    await packAll(store, packing, runOf(1));
  });

  it('reads no sealed list if nothing is new', async () => {
    expect(await planned(store, 2, packing)).toMatchObject({ objects: 0, read: [] });
  });

  it('reads no sealed list for keys behind all', async () => {
    for (const at of [100, 101]) store.seed(`${incoming}${at}.jpg`, `${at}`);
    expect(await planned(store, 2, packing)).toMatchObject({ objects: 2, read: [] });
  });

  it('reads the sealed list of a changed object', async () => {
    store.seed(`${incoming}007.jpg`, 'other');
    const { objects, read } = await planned(store, 2, packing);
    expect({ objects, read: read.length }).toEqual({ objects: 1, read: 1 });
  });

  it('trusts no plan that is not sealed', async () => {
    store.seed(`${incoming}007.jpg`, 'other');
    await planned(store, 2, packing);
    expect(await planned(store, 3, packing)).toMatchObject({ objects: 1 });
  });

  it('packs everything again if the dataset was deleted', async () => {
    for (const key of store.keys(bucketKeys.dataset(PIPELINE))) store.objects.delete(key);
    expect(await planned(store, 2, packing)).toMatchObject({ objects: 60 });
  });

  it('packs again what was deleted of the dataset', async () => {
    store.seed(`${incoming}100.jpg`, 'new');
    await planned(store, 2, packing);
    await packAll(store, packing, runOf(2));
    for (const key of store.keys(bucketKeys.generation(PIPELINE, runOf(1)))) store.objects.delete(key);
    for (const key of store.keys(bucketKeys.datasetVersions(PIPELINE))) store.objects.delete(key);
    expect(await planned(store, 3, packing)).toMatchObject({ objects: 60 });
  });

  it('packs a marker that becomes data', async () => {
    store.seed(`${incoming}_DONE`, '');
    const at = { store, now, rangeObjects: RANGE };
    const given = { pipeline: PIPELINE, packing, settleMarker: '_DONE' };
    store.seed(`${incoming}100.jpg`, 'new');
    await planShards(at, { ...given, runId: runOf(2) });
    await packAll(store, packing, runOf(2));
    expect(await planShards(at, { ...given, runId: runOf(3) })).toMatchObject({ objects: 0 });
    expect(await planned(store, 4, packing)).toMatchObject({ objects: 1 });
  });

  it('keeps the ranges beside the plan', async () => {
    const manifest = await readSealedManifest(store, PIPELINE, runOf(1));
    const key = packingKeys(PIPELINE, runOf(1)).planRanges(manifest?.plan ?? '');
    expect(store.keys().filter(isListedRanges)).toEqual([key]);
  });
});

describe('ranges of a listing', () => {
  it('stay as few as pages', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 60 }), (added) => {
        const rows = new Set(Array.from({ length: 400 }, (_, at) => at * 10));
        let ranges = listed([...rows]);
        for (const one of added) {
          rows.add(one);
          const sorted = [...rows].sort((a, b) => a - b);
          ranges = listed(sorted, ranges);
          expect(ranges.reduce((sum, { objects }) => sum + objects, 0)).toBe(rows.size);
          expect(ranges.length).toBeLessThanOrEqual(rows.size / RANGE + 1);
        }
      }),
      { numRuns: 30 },
    );
  });
});

/** Ranges without a change are kept, as a plan does. */
function listed(
  rows: readonly number[],
  before: ReturnType<RangeCollector['ranges']> = [],
): ReturnType<RangeCollector['ranges']> {
  const keyOf = (row: number): string => String(row).padStart(5, '0');
  const collector = new RangeCollector(RANGE);
  const left = [...rows];
  for (const range of before) {
    const inside = left.splice(0, left.filter((row) => keyOf(row) <= range.last).length);
    const hash = new MultisetHash();
    for (const row of inside) hash.add(keyOf(row), 'etag');
    if (hash.digest === range.digest && hash.count === range.objects) collector.keep(range);
    else for (const row of inside) collector.add(keyOf(row), 'etag', true);
  }
  for (const row of left) collector.add(keyOf(row), 'etag', true);
  return collector.ranges();
}
