/** Files that arrive in bundles are packed like objects of their own. */

import { createHash } from 'node:crypto';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { seedBundle } from '../../../../test/support/builders/bundles.ts';
import { compactAll, contents, runOf } from '../../../../test/support/builders/compaction.ts';
import {
  dropped,
  incoming,
  manifestOf,
  memberLines,
  now,
  PIPELINE,
  packAll,
  RUN,
  settings,
  unpack,
} from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import type { PlanInput } from '../../plan/draft-arrivals.ts';
import { planShards } from '../../plan/plan-shards.ts';

const NEXT = `${PIPELINE}-000002`;

let store: MemoryBlobStore;
beforeEach(() => {
  store = new MemoryBlobStore();
});

const texts = async (of = store, runId?: string) =>
  Object.fromEntries(
    [...(await unpack(of, runId))].map(([key, body]) => [key.slice(incoming.length), body.toString()]),
  );

/** What the next run would pack. */
const planned = async (packing: PackingSettings = settings(), runId = NEXT) =>
  planShards({ store, now }, { runId, pipeline: PIPELINE, packing, onChange: 'replace' });

const files = fc.dictionary(
  fc.stringMatching(/^(cat|dog)\/[a-d]{1,3}\.(jpg|json|seg\.png)$/),
  fc.string({ maxLength: 200 }),
  { minKeys: 1, maxKeys: 40 },
);

describe('a dataset of bundles and plain objects', () => {
  it('holds what plain objects alone make', async () => {
    const property = fc.asyncProperty(
      fc.array(files, { minLength: 1, maxLength: 3 }),
      files,
      fc.constantFrom<Partial<PackingSettings>>(
        {},
        { shuffle: false },
        { remainder: 'even', shardsMultipleOf: 2 },
        { format: 'mds', label: 'none' },
        { format: 'tfrecord' },
        { split: { train: 0.5, validation: 0.5, by: 'key' } },
        { balance: 'over' },
      ),
      async (bundles, plain, changes) => {
        const packing = settings({ require: [], ...changes });
        const [one, other] = [new MemoryBlobStore(), new MemoryBlobStore()];
        for (const [second, bundle] of [...bundles, plain].entries()) {
          one.now = other.now = () => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
          dropped(bundle, one);
          if (second < bundles.length) seedBundle(other, bundle);
          else dropped(bundle, other);
        }
        for (const each of [one, other]) await packAll(each, packing);
        expect(counted(other)).toEqual(counted(one));
        const isTar = packing.format === 'webdataset' && packing.split === undefined;
        const read = async (each: MemoryBlobStore) => (isTar ? texts(each) : {});
        expect(await read(other)).toEqual(await read(one));
        const isEven = packing.remainder === 'even';
        expect(members(other, isEven)).toEqual(members(one, isEven));
      },
    );
    await fc.assert(property, { numRuns: Number(process.env['TIDEWHEEL_SEEDS'] ?? 15) });
  }, 120_000);
});

/** Undefined if all were rejected. */
function counted(of: MemoryBlobStore) {
  if (!of.objects.has(bucketKeys.manifest(PIPELINE, RUN))) return undefined;
  const { samples, arrivals, rejections, labels } = manifestOf(of);
  return { samples, objects: arrivals.objects, rejections: rejections.byReason, labels };
}

/** Names and bytes of all members. Which samples make the counts even depends on their order. */
const members = (of: MemoryBlobStore, isEven: boolean): string[] =>
  memberLines(of)
    .filter(({ repeat }) => !isEven || repeat === undefined)
    .map(({ name, sha256, key, repeat }) => JSON.stringify([name, sha256, key, repeat !== undefined]))
    .sort();

describe('the newest version of a key', () => {
  it.each(['bundle', 'object'] as const)('wins when it is the %s', async (newest) => {
    const [older, newer] = [{ 'cat/a.jpg': 'old' }, { 'cat/a.jpg': 'new' }];
    if (newest === 'object') seedBundle(store, older);
    else dropped(older, store);
    store.now = () => new Date('2026-01-01T00:00:05Z');
    if (newest === 'bundle') seedBundle(store, newer);
    else dropped(newer, store);
    await packAll(store, settings());
    expect(await texts()).toEqual(newer);
  });

  it('is packed again when a bundle brings other bytes', async () => {
    seedBundle(store, { 'cat/a.jpg': 'old', 'cat/b.jpg': 'same' });
    await packAll(store, settings());
    store.now = () => new Date('2026-12-01T00:00:00Z');
    seedBundle(store, { 'cat/a.jpg': 'new', 'cat/b.jpg': 'same' });
    expect(await planned()).toMatchObject({ objects: 1 });
  });

  it('stays when an older bundle lies on', async () => {
    seedBundle(store, { 'cat/a.jpg': 'old', 'cat/b.jpg': 'other' });
    store.now = () => new Date('2026-01-01T00:00:05Z');
    dropped({ 'cat/a.jpg': 'new' }, store);
    await packAll(store, settings());
    store.objects.delete(`${incoming}cat/a.jpg`);
    expect(await planned()).toMatchObject({ status: 'nothingNew' });
  });

  it('stays when the newest bundle brought no news', async () => {
    seedBundle(store, { 'cat/a.jpg': 'same' });
    await run(1, '2026-01-02T00:00:00Z');
    store.now = () => new Date('2026-01-03T00:00:00Z');
    seedBundle(store, { 'cat/a.jpg': 'between' });
    store.now = () => new Date('2026-01-04T00:00:00Z');
    store.seed(`${incoming}cat/a.jpg`, 'same', 'other');
    await run(2, '2026-01-05T00:00:00Z');
    store.objects.delete(`${incoming}cat/a.jpg`);
    expect(await plan(3, '2026-01-06T00:00:00Z')).toMatchObject({ status: 'nothingNew' });
  });

  const corrected = settings({ require: [] });

  const plan = (batch: number, at: string, changes: Partial<PlanInput> = {}) =>
    planShards(
      { store, now: () => new Date(at) },
      { runId: runOf(batch), pipeline: PIPELINE, packing: corrected, onChange: 'replace', ...changes },
    );

  async function run(batch: number, at: string): Promise<void> {
    await plan(batch, at);
    await packAll(store, corrected, runOf(batch));
    await compactAll(store, corrected);
  }

  it('keeps the rest that came under another ETag', async () => {
    dropped({ 'cat/a.json': '1', 'cat/z.jpg': 'first' }, store);
    store.seed(`${incoming}cat/a.jpg`, 'image', 'parts-2');
    await run(1, '2026-01-01T00:00:05Z');
    store.now = () => new Date('2026-01-01T00:00:10Z');
    seedBundle(store, { 'cat/a.jpg': 'image', 'cat/y.jpg': 'second' });
    await run(2, '2026-01-01T00:00:20Z');
    for (const [batch, second] of [
      [3, 30],
      [4, 45],
    ] as const) {
      store.now = () => new Date(`2026-01-01T00:00:${second}Z`);
      dropped({ 'cat/a.json': `${batch}` }, store);
      await run(batch, `2026-01-01T00:00:${second + 10}Z`);
      expect(await contents(store)).toContainEqual(expect.stringContaining(sha256(`${batch}`)));
    }
  });

  describe('after a compaction replaced what the bundle holds', () => {
    beforeEach(async () => {
      dropped({ 'cat/z.jpg': 'first' }, store);
      await packAll(store, corrected);
      store.now = () => new Date('2026-01-01T00:00:10Z');
      seedBundle(store, { 'cat/a.jpg': 'old', 'cat/a.json': '1' });
      await run(2, '2026-01-01T00:00:20Z');
      store.now = () => new Date('2026-01-01T00:00:30Z');
      dropped({ 'cat/a.jpg': 'new' }, store);
      await run(3, '2026-01-01T00:00:40Z');
      store.objects.delete(`${incoming}cat/a.jpg`);
    });

    it('stays without the object that brought it', async () => {
      expect(await plan(4, '2026-01-01T00:00:50Z')).toMatchObject({ status: 'nothingNew' });
    });

    it("is not mixed with its sample's older rest", async () => {
      dropped({ 'cat/a.json': '2' }, store);
      await run(4, '2026-01-01T00:00:50Z');
      expect(await contents(store)).toEqual([
        expect.stringContaining(sha256('new')),
        expect.stringContaining(sha256('1')),
        expect.stringContaining(sha256('first')),
      ]);
    });

    it('gives way to the bundle where deletions count', async () => {
      expect(await plan(4, '2026-01-01T00:00:50Z', { onDelete: 'retract' })).toMatchObject({ objects: 2 });
    });
  });
});

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('what is packed already', () => {
  it('is no news in another bundle, or plainly', async () => {
    const all = { 'cat/a.jpg': 'one', 'cat/b.jpg': 'two' };
    seedBundle(store, all);
    await packAll(store, settings());
    store.now = () => new Date('2026-12-01T00:00:00Z');
    seedBundle(store, { 'cat/a.jpg': 'one' });
    dropped(all, store);
    expect(await planned()).toMatchObject({ status: 'nothingNew' });
  });
});

describe('a member whose bytes the index does not know', () => {
  it('is left, and its neighbours are packed', async () => {
    const { data } = seedBundle(store, { 'cat/a.jpg': 'one', 'cat/b.jpg': 'two', 'cat/c.jpg': 'three' });
    const damaged = store.body(data);
    damaged[4] = 0;
    store.seed(data, damaged);
    await packAll(store, settings());
    expect(Object.keys(await texts()).sort()).toEqual(['cat/a.jpg', 'cat/c.jpg']);
    expect(manifestOf(store).left).toMatchObject({ byReason: { unreadable: 1 }, byCode: { BadDigest: 1 } });
  });
});

describe('reading', () => {
  it('takes one request for neighbours', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [
        `${index % 2 === 0 ? 'cat' : 'dog'}/${createHash('md5').update(`${index}`).digest('hex')}.jpg`,
        `image ${index}`,
      ]),
    );
    const { data } = seedBundle(store, many);
    let reads = 0;
    const get = store.get.bind(store);
    store.get = (key, options) => {
      if (key === data) reads += 1;
      return get(key, options);
    };
    await packAll(store, settings({ shardMegabytes: 1 }));
    expect(Object.keys(await texts())).toHaveLength(500);
    expect(reads).toBe(1);
  });
});
