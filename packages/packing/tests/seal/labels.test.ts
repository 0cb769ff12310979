/** The manifest numbers the classes, for ever, and says what members hold. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compactAll, current, packedInDrops } from '../../../../test/support/builders/compaction.ts';
import { PIPELINE, settings } from '../../../../test/support/builders/packing.ts';

const labels = async (store: Awaited<ReturnType<typeof packedInDrops>>) =>
  (await current(store)).map((manifest) => manifest.labels);

describe('the number of a class', () => {
  it('never changes, whatever classes come', async () => {
    const names = fc.uniqueArray(fc.constantFrom('a', 'B', '7', '10', 'x y'), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(fc.array(names, { minLength: 1, maxLength: 3 }), async (drops) => {
        const store = await packedInDrops(
          drops.map((drop, number) => Object.fromEntries(drop.map((name) => [`${name}/${number}.txt`, 'x']))),
          settings(),
        );
        let before: readonly string[] = [];
        for (const [number, after = []] of (await labels(store)).entries()) {
          expect(after.slice(0, before.length)).toEqual(before);
          expect(after.toSorted()).toEqual([...new Set([...before, ...(drops[number] ?? [])])].toSorted());
          before = after;
        }
        expect(before.length).toBeGreaterThan(0);
      }),
      { numRuns: 12 },
    );
  });

  it('is its value where folders are numbers', async () => {
    const files = Object.fromEntries(['10', '2', '0', '1'].map((name) => [`${name}/a.txt`, name]));
    expect(await labels(await packedInDrops([files], settings()))).toEqual([['0', '1', '2', '10']]);
  });

  it('survives drops, rejections and compactions', async () => {
    const packing = settings({ accept: ['.txt'] });
    const drops = [
      { 'dog/1.txt': '1', 'cat/2.txt': '2' },
      { 'x/3.bin': '3' },
      { 'ant/4.txt': '4', 'dog/5.txt': '5' },
    ];
    const store = await packedInDrops(drops, packing);
    expect(await labels(store)).toEqual([
      ['cat', 'dog'],
      ['cat', 'dog', 'ant'],
    ]);
    await compactAll(store, packing);
    expect(await labels(store)).toEqual([['cat', 'dog', 'ant']]);
    await packedInDrops([{ 'bee/6.txt': '6' }], packing, store, 4);
    expect((await labels(store)).at(-1)).toEqual(['cat', 'dog', 'ant', 'bee']);
  });

  it('follows generations of an earlier release', async () => {
    const store = await packedInDrops([{ 'dog/1.txt': '1' }, { 'cat/2.txt': '2' }], settings());
    for (const batch of [1, 2]) {
      const key = bucketKeys.manifest(PIPELINE, `${PIPELINE}-00000${batch}`);
      const { labels: _, ...old } = JSON.parse(store.body(key).toString()) as Record<string, unknown>;
      store.seed(key, JSON.stringify(old));
    }
    await packedInDrops([{ 'ant/3.txt': '3' }], settings(), store, 3);
    expect((await labels(store)).at(-1)).toEqual(['dog', 'cat', 'ant']);
  });
});

describe('the content of a generation', () => {
  it('counts lines and tokens of text, also when joined', async () => {
    const store = await packedInDrops(
      [{ 'a/1.txt': 'one two\nthree\n' }, { 'a/2.txt': 'four', 'a/3.jpg': 'no text' }],
      settings(),
    );
    const texts = async () => (await current(store)).map(({ content }) => content?.text);
    expect(await texts()).toEqual([
      { members: 1, lines: 2, tokens: 3 },
      { members: 1, lines: 1, tokens: 1 },
    ]);
    await compactAll(store, settings());
    expect(await texts()).toEqual([{ members: 2, lines: 3, tokens: 4 }]);
  });
});
