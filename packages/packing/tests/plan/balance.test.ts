import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  incoming,
  manifestOf,
  memberLines,
  packAll,
  settings,
  unpack,
} from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { balance, copiesOf } from '../../plan/balance.ts';
import { verifyGeneration } from '../../verify/verify.ts';

const classes = fc.array(fc.constantFrom('a', 'b', 'c', undefined), { maxLength: 200 });

function countsOf(
  names: readonly (string | undefined)[],
  one: ReturnType<typeof balance>,
): Map<string, number> {
  const counts = new Map<string, number>();
  const add = (name: string | undefined): void => {
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  };
  for (const [ordinal, name] of names.entries()) if (!one.leftOut.has(ordinal)) add(name);
  for (const ordinal of one.copies) add(names[ordinal]);
  return counts;
}

describe('balance', () => {
  it.each(['over', 'under'] as const)('equalizes all classes by %s-sampling, reproducibly', (mode) => {
    fc.assert(
      fc.property(classes, (names) => {
        const samples = { count: names.length, classOf: (ordinal: number) => names[ordinal] };
        const one = balance(samples, mode, 'seed');
        expect(balance(samples, mode, 'seed')).toEqual(one);
        const counts = countsOf(names, one);
        expect(new Set(counts.values()).size).toBeLessThanOrEqual(1);
        for (const [name, { samples: before, planned }] of Object.entries(one.classes)) {
          expect(planned).toBe(counts.get(name));
          expect(before).toBe(names.filter((other) => other === name).length);
        }
        expect(mode === 'over' ? one.leftOut.size : one.copies.length).toBe(0);
        for (const ordinal of one.leftOut) expect(names[ordinal]).toBeDefined();
        for (const [ordinal] of names.entries())
          expect(copiesOf(one.copies, ordinal).count).toBe(
            [...one.copies].filter((copy) => copy === ordinal).length,
          );
      }),
    );
  });

  it('spreads a limited number of copies evenly', () => {
    const of = (small: number) =>
      balance({ count: 10_000, classOf: (at) => (at < small ? 'small' : 'large') }, 'over', 's');
    const times = Array.from({ length: 30 }, (_, at) => copiesOf(of(30).copies, at).count);
    expect(Math.max(...times) - Math.min(...times)).toBeLessThanOrEqual(1);
    expect(of(1).classes['small']).toEqual({ samples: 1, planned: 1_001 });
  });

  it('refuses more copies than memory holds', () => {
    const classOf = (at: number): string => (at < 20_000 ? 'large' : `small ${at % 2_000}`);
    expect(() => balance({ count: 40_000, classOf }, 'over', 's')).toThrow(
      /would make 20000000 copies so that 2001 classes have 20000 samples each, .*: write under/,
    );
    expect(balance({ count: 40_000, classOf }, 'under', 's').classes['large']).toEqual({
      samples: 20_000,
      planned: 10,
    });
  });
});

function filled(): MemoryBlobStore {
  const store = new MemoryBlobStore();
  for (let index = 0; index < 40; index += 1) {
    const folder = index < 4 ? 'rare' : index < 12 ? 'some' : 'many';
    store.seed(`${incoming}${folder}/${index}.jpg`, Buffer.alloc(100 + index, index));
    store.seed(`${incoming}${folder}/${index}.json`, `${index}`);
  }
  return store;
}

describe('a balanced generation', () => {
  it('lists every copy in even shards', async () => {
    const store = filled();
    const packing = settings({
      balance: 'over',
      remainder: 'even',
      shardMegabytes: 0.03,
      shardsMultipleOf: 5,
    });
    expect(await packAll(store, packing)).toMatchObject({ status: 'sealed', rejected: 0 });
    const manifest = manifestOf(store);
    expect(manifest.balance?.classes).toMatchObject({
      rare: { samples: 4, planned: 28 },
      some: { samples: 8, planned: 28 },
      many: { samples: 28, planned: 28 },
    });
    expect(new Set(manifest.shards.map(({ samples }) => samples)).size).toBe(1);
    expect(manifest.samples).toBe(40 + manifest.repeated);
    expect(manifest.repeated).toBeGreaterThanOrEqual(24 + 20);
    const names = memberLines(store).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect((await unpack(store)).size).toBe(80);
    expect((await verifyGeneration(store, manifest)).problems).toEqual([]);
    const forged = { ...manifest, repeated: manifest.repeated - 1 };
    expect((await verifyGeneration(store, forged)).problems).not.toEqual([]);
  });

  it('counts classes of any name', async () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'plain'];
    const store = new MemoryBlobStore();
    for (const [index, name] of names.entries())
      for (let copy = 0; copy <= index; copy += 1)
        store.seed(`${incoming}${name}/${copy}.jpg`, Buffer.alloc(100, copy));
    await packAll(store, settings({ balance: 'over' }));
    const manifest = manifestOf(store);
    expect(new Map(Object.entries(manifest.balance?.classes ?? {}))).toEqual(
      new Map(names.map((name, index) => [name, { samples: index + 1, planned: 5, sealed: 5 }])),
    );
    expect((await verifyGeneration(store, manifest)).problems).toEqual([]);
  });

  it('rejects surplus samples for good', async () => {
    const store = filled();
    const packing = settings({ balance: 'under' });
    expect(await packAll(store, packing)).toMatchObject({ samples: 12, rejected: 56 });
    const manifest = manifestOf(store);
    expect(manifest.rejections.byReason).toEqual({ balancedOut: 56 });
    expect((await verifyGeneration(store, manifest)).problems).toEqual([]);
    expect(await packAll(store, packing, 'digits-000002')).toMatchObject({ samples: 0, rejected: 0 });
  });

  it('refuses settings without classes or with deferred samples', () => {
    expect(packingSchema.safeParse({ balance: 'over', label: 'none' }).success).toBe(false);
    expect(packingSchema.safeParse({ balance: 'over', format: 'lines' }).success).toBe(false);
    expect(packingSchema.safeParse({ balance: 'over', remainder: 'drop' }).success).toBe(false);
    expect(packingSchema.safeParse({ balance: 'over', remainder: 'even' }).success).toBe(true);
  });
});
