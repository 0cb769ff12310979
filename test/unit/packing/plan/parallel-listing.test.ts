import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareKeys } from '../../../../functions/core/packing/model/order.ts';
import { keyBetween, listInParallel } from '../../../../functions/core/packing/plan/parallel-listing.ts';
import { seededUint32 } from '../../../../functions/core/shared/seeded-random.ts';
import { MemoryBlobStore } from '../../../support/fakes/memory-blob-store.ts';

async function listed(store: MemoryBlobStore, prefix: string, readers = 8): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of listInParallel(store, prefix, { readers, pagesHeld: 5 }))
    keys.push(...page.objects.map(({ key }) => key));
  return keys;
}

describe('a parallel listing', () => {
  it('equals the sequential one for any keys', async () => {
    const letter = fc.constantFrom(
      'a',
      'b',
      'z',
      '0',
      '9',
      '/',
      '~',
      ' ',
      'é',
      '\uffee',
      '😀',
      '\u007f',
      '!',
    );
    const keys = fc.uniqueArray(
      fc.array(letter, { minLength: 1, maxLength: 6 }).map((all) => all.join('')),
      { maxLength: 60 },
    );
    await fc.assert(
      fc.asyncProperty(keys, fc.integer({ min: 1, max: 7 }), async (all, pageSize) => {
        const store = new MemoryBlobStore();
        store.pageSize = pageSize;
        for (const key of all) store.seed(`in/${key}`, 'x');
        store.seed('im/before', 'x');
        store.seed('io/after', 'x');
        expect(await listed(store, 'in/')).toEqual(store.keys('in/'));
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['numbers', (index: number) => String(index).padStart(9, '0')],
    ['one folder', (index: number) => `train/images/photo-${String(index).padStart(8, '0')}.jpeg`],
    ['random names', (index: number) => seededUint32(index)().toString(16)],
  ])('reads %s from several places at once', async (_name, nameOf) => {
    const store = new MemoryBlobStore();
    store.pageSize = 10;
    for (let index = 0; index < 3_000; index += 1) store.seed(`in/${nameOf(index)}`, 'x');
    let together = 0;
    let most = 0;
    let requests = 0;
    const plain = store.listPage.bind(store);
    store.listPage = async (prefix, options) => {
      requests += 1;
      together += 1;
      most = Math.max(most, together);
      await Promise.resolve();
      together -= 1;
      return plain(prefix, options);
    };
    expect(await listed(store, 'in/')).toEqual(store.keys('in/'));
    expect(most).toBeGreaterThan(4);
    expect(requests).toBeLessThan(1_200);
  });

  it('throws a failure and ends', async () => {
    const store = new MemoryBlobStore();
    store.listPage = () => Promise.reject(new Error('denied'));
    await expect(listed(store, 'in/')).rejects.toThrow('denied');
  });

  it('can be stopped half way', async () => {
    const store = new MemoryBlobStore();
    store.pageSize = 1;
    for (let index = 0; index < 50; index += 1) store.seed(`in/${index}`, 'x');
    for await (const page of listInParallel(store, 'in/')) {
      expect(page.objects).toHaveLength(1);
      break;
    }
  });
});

describe('a key between two others', () => {
  it('lies between them', () => {
    const key = fc.string({ unit: 'grapheme', maxLength: 8 }).filter((text) => text.isWellFormed());
    fc.assert(
      fc.property(key, key, (a, b) => {
        const [low, high] = compareKeys(a, b) < 0 ? [a, b] : [b, a];
        const middle = keyBetween(low, high);
        if (middle === undefined) return;
        expect(compareKeys(low, middle)).toBeLessThan(0);
        expect(compareKeys(middle, high)).toBeLessThanOrEqual(0);
      }),
    );
  });
});
