/** A plan that lists around notifications plans what one plans that lists everything, as far as these go. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import * as fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { accounts, compactAll, incoming, runOf } from '../../../../test/support/builders/compaction.ts';
import { PIPELINE, packAll, planAndPack, settings } from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { watched } from '../../../../test/support/fakes/misbehaving-store.ts';
import type { BlobStore } from '../../documents/blob-store.ts';
import { packingKeys } from '../../documents/packing-keys.ts';
import { planShards } from '../../plan/plan-shards.ts';

const RANGE = 3;
const BEGIN = Date.parse('2026-11-24T00:00:00Z');
const HOUR = 3_600_000;

/** The bucket, its time, and the notifications that are noted since the beginning. */
class World {
  readonly store = new MemoryBlobStore();
  time = BEGIN;
  #notes = 0;
  #late: string[] = [];

  constructor() {
    this.store.now = this.now;
  }

  /** A folder that was listed whole, long after notes began. */
  static async listed(packing: PackingSettings): Promise<World> {
    const world = new World();
    world.time += HOUR;
    for (let at = 0; at <= 200; at += 2) world.store.seed(keyOf(at), `${at}`);
    await world.plan(1, packing, { isWhole: true });
    await packAll(world.store, packing, runOf(1));
    world.time += HOUR;
    return world;
  }

  readonly now = (): Date => new Date(this.time);

  note(keys: readonly string[]): void {
    this.#notes += 1;
    const name = `${this.now().toISOString()}-${this.#notes}.json`;
    this.store.seed(`${bucketKeys.notified(PIPELINE)}${name}`, JSON.stringify(keys));
  }

  /** What the run before left. */
  deliverLate(): void {
    if (this.#late.length > 0) this.note(this.#late);
    this.#late = [];
  }

  apply(changes: readonly Change[]): void {
    const noted: string[] = [];
    for (const change of changes) {
      const key = keyOf(change.name);
      if (change.kind === 'delete') this.store.objects.delete(key);
      else this.store.seed(key, `${change.name} ${change.body}`);
      if (change.kind === 'put' && change.notified === 'in time') noted.push(key);
      if (change.kind === 'put' && change.notified === 'late') this.#late.push(key);
    }
    if (noted.length > 0) this.note(noted);
  }

  async plan(
    batch: number,
    packing: PackingSettings,
    { isWhole = false, store = this.store }: { readonly isWhole?: boolean; readonly store?: BlobStore } = {},
  ): Promise<string> {
    const notifiedSince = isWhole ? undefined : new Date(BEGIN).toISOString();
    const given = { runId: runOf(batch), pipeline: PIPELINE, packing, notifiedSince };
    await planShards({ store, now: this.now, rangeObjects: RANGE }, given);
    const found = await store.get(packingKeys(PIPELINE, runOf(batch)).planCommit);
    if (found.kind !== 'found') throw new Error('no plan');
    return (JSON.parse(Buffer.concat(found.chunks).toString()) as { digest: string }).digest;
  }

  copy(): MemoryBlobStore {
    const copy = new MemoryBlobStore();
    for (const [key, held] of this.store.objects) copy.objects.set(key, held);
    return copy;
  }
}

const keyOf = (name: number): string => `${incoming}${String(name).padStart(3, '0')}.jpg`;

type Change =
  | { readonly kind: 'put'; readonly name: number; readonly body: number; readonly notified: Fate }
  | { readonly kind: 'delete'; readonly name: number };
type Fate = 'in time' | 'late' | 'never';

const name = fc.integer({ min: 0, max: 200 });
const changeOf = (...fates: readonly Fate[]): fc.Arbitrary<Change> =>
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('put' as const),
        name,
        body: fc.integer({ min: 0, max: 2 }),
        notified: fc.constantFrom(...fates),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), name }) },
  );

const rarely = fc.integer({ min: 1, max: 5 }).map((value) => value === 1);

/** One run: what arrives before it, and while it packs; whether it lists everything and is sealed; what happens then. */
const turnOf = (...fates: readonly Fate[]) =>
  fc.record({
    before: fc.array(changeOf(...fates), { maxLength: 8 }),
    during: fc.array(changeOf(...fates), { maxLength: 3 }),
    isWhole: rarely,
    seals: rarely.map((is) => !is),
    after: fc.oneof(
      { weight: 6, arbitrary: fc.constant('nothing') },
      { weight: 3, arbitrary: fc.constantFrom('compaction', 'lost plans', 'damaged notes') },
    ),
    hours: fc.constantFrom(0.01, 0.3, 2, 2, 2, 80),
  });

async function afterwards({ store }: World, after: string, packing: PackingSettings): Promise<void> {
  if (after === 'compaction') await compactAll(store, packing);
  if (after === 'lost plans')
    for (const key of store.keys(bucketKeys.runs(PIPELINE))) store.objects.delete(key);
  if (after === 'damaged notes')
    for (const key of store.keys(bucketKeys.notified(PIPELINE))) store.seed(key, '[');
}

const packings = (['ragged', 'drop'] as const).map((remainder) =>
  settings({ label: 'none', remainder, shardsMultipleOf: 3 }),
);

describe('a plan around notifications', () => {
  it.each(packings)(
    'plans as one that lists everything, $remainder',
    async (packing) => {
      await fc.assert(
        fc.asyncProperty(fc.array(turnOf('in time'), { minLength: 2, maxLength: 6 }), async (turns) => {
          const world = new World();
          for (const [index, { before, during, isWhole, seals, after, hours }] of turns.entries()) {
            const batch = index + 1;
            world.apply(before);
            const other = world.copy();
            const digest = await world.plan(batch, packing, { isWhole });
            expect(digest).toBe(await world.plan(batch, packing, { isWhole: true, store: other }));
            world.time += 1_000;
            world.apply(during);
            if (seals) await packAll(world.store, packing, runOf(batch));
            else await planAndPack(world.store, packing, runOf(batch));
            await afterwards(world, after, packing);
            world.time += hours * HOUR;
          }
        }),
        { numRuns: 18 },
      );
    },
    60_000,
  );

  it('loses and doubles nothing, whatever is notified of', async () => {
    const [packing = settings()] = packings;
    const turn = turnOf('in time', 'late', 'never');
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 2, maxLength: 6 }), async (turns) => {
        const world = await World.listed(packing);
        for (const [index, { before, during, isWhole, seals, hours }] of turns.entries()) {
          world.deliverLate();
          world.apply(before);
          await world.plan(index + 2, packing, { isWhole });
          world.time += 1_000;
          world.apply(during);
          if (seals) await packAll(world.store, packing, runOf(index + 2));
          world.time += hours * HOUR;
        }
        const last = turns.length + 2;
        await world.plan(last, packing, { isWhole: true });
        await packAll(world.store, packing, runOf(last));
        const sealed = await accounts(world.store);
        expect(new Set(sealed).size).toBe(sealed.length);
        for (const key of world.store.keys(incoming)) {
          const etag = world.store.objects.get(key)?.etag;
          expect(sealed.some((line) => line.startsWith(`${key} ${etag} `))).toBe(true);
        }
      }),
      { numRuns: 30 },
    );
  }, 60_000);
});

describe('a plan after a sealed one', () => {
  const packing = settings({ label: 'none' });
  let world: World;
  let listed: number;

  /** Counts the listings of incoming/. */
  const counting = (store: MemoryBlobStore): BlobStore =>
    watched(store, (name, [prefix]) => {
      if (name === 'listPage' && prefix === incoming) listed += 1;
    });

  const planned = async (batch: number, isWhole = false): Promise<number> => {
    await world.plan(batch, packing, { isWhole, store: counting(world.store) });
    const commit = world.store.body(packingKeys(PIPELINE, runOf(batch)).planCommit).toString();
    return (JSON.parse(commit) as { objects: number }).objects;
  };

  beforeEach(async () => {
    world = new World();
    world.store.pageSize = RANGE;
    world.time += HOUR;
    for (let at = 0; at < 60; at += 1)
      world.store.seed(`${incoming}${String(at).padStart(3, '0')}.jpg`, `${at}`);
    await world.plan(1, packing, { isWhole: true });
    await packAll(world.store, packing, runOf(1));
    world.time += HOUR;
    listed = 0;
  });

  const put = (at: string): string => {
    const key = `${incoming}${at}.jpg`;
    world.store.seed(key, `new ${at}`);
    return key;
  };

  it('lists the range of a new key', async () => {
    world.note([put('007a')]);
    expect(await planned(2)).toBe(1);
    expect(listed).toBeLessThanOrEqual(4);
  });

  it('finds the neighbour whose notification is late', async () => {
    world.note([put('007a')]);
    put('007b');
    put('030a');
    expect(await planned(2)).toBe(2);
  });

  it('lists everything where a note cannot be read', async () => {
    world.note([put('007a')]);
    put('030a');
    world.store.seed(`${bucketKeys.notified(PIPELINE)}x.json`, '{');
    expect(await planned(2)).toBe(2);
  });

  it.each([
    ['lists around notifications', 15, 72, 1],
    ['lists everything where the first functions may not have noted', 14, 72, 2],
    ['lists everything where the plan is old', 15, 73, 2],
  ])('%s', async (_, minutesNoted, hoursOld, objects) => {
    world = new World();
    world.time += minutesNoted * 60_000;
    world.store.seed(`${incoming}5.jpg`, 'first');
    await world.plan(1, packing, { isWhole: true });
    await packAll(world.store, packing, runOf(1));
    world.time += hoursOld * HOUR;
    world.note([put('9')]);
    put('0');
    expect(await planned(2)).toBe(objects);
  });

  it('lists everything where reading the notes would cost more', async () => {
    for (let note = 0; note < 200; note += 1) world.note([`${incoming}007a.jpg`]);
    put('030a');
    expect(await planned(2)).toBe(1);
  });

  it('deletes notes that a sealed plan has taken', async () => {
    world.note([put('007a')]);
    await planned(2);
    await packAll(world.store, packing, runOf(2));
    expect(world.store.keys(bucketKeys.notified(PIPELINE))).toHaveLength(1);
    world.time += HOUR;
    world.note([put('008a')]);
    expect(await planned(3)).toBe(1);
    expect(world.store.keys(bucketKeys.notified(PIPELINE))).toHaveLength(2);
    await packAll(world.store, packing, runOf(3));
    world.time += HOUR;
    expect(await planned(4)).toBe(0);
    expect(world.store.keys(bucketKeys.notified(PIPELINE))).toHaveLength(1);
  });
});
