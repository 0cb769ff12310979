import { seededUint32 } from '@tidewheel/kit/seeded-random.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { TurnStore } from '../../../../test/support/fakes/turn-store.ts';
import { KEY_FORMS, keysOf } from '../../../../test/support/key-forms.ts';
import type { ListOptions } from '../../documents/blob-store.ts';
import { compareKeys } from '../../documents/order.ts';
import { KeyAlphabets, ListingGuesses } from '../../plan/listing-guesses.ts';
import { listInParallel } from '../../plan/parallel-listing.ts';

type Options = Parameters<typeof listInParallel>[2];

async function listed(store: MemoryBlobStore, prefix: string, options: Options = {}): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of listInParallel(store, prefix, {
    readers: 8,
    pagesHeld: 12,
    pagesApart: 2,
    ...options,
  }))
    keys.push(...page.objects.map(({ key }) => key));
  return keys;
}

/** Answers come in any order. */
class HastyStore extends MemoryBlobStore {
  readonly #choose: (below: number) => number;
  readonly #waiting: (() => void)[] = [];
  /** Called before each answer. */
  meanwhile = (): void => {};

  constructor(seed: number) {
    super();
    const next = seededUint32(seed);
    this.#choose = (below) => next() % below;
  }

  override async listPage(prefix: string, options: ListOptions = {}) {
    await new Promise<void>((go) => {
      this.#waiting.push(go);
      setImmediate(() => this.#waiting.splice(this.#choose(this.#waiting.length), 1)[0]?.());
    });
    this.meanwhile();
    return super.listPage(prefix, options);
  }
}

const ASCII = [
  'a',
  'b',
  'z',
  'A',
  '0',
  '9',
  '/',
  '//',
  '~',
  ' ',
  '+',
  '%',
  '%2B',
  '.',
  '&',
  '<',
  '!',
  '\u0001',
];
const BEYOND = ['\u007f', 'é', 'ü', 'ß', '中', '\ud7ff', '\ue000', '\uffee', '😀', '🧭'];
const character = fc.constantFrom(...ASCII, ...BEYOND);
const hostileKey = fc.array(character, { minLength: 1, maxLength: 6 }).map((all) => all.join(''));
const folderOfNumbers = fc
  .record({
    start: hostileKey,
    count: fc.integer({ min: 1, max: 60 }),
    width: fc.integer({ min: 1, max: 9 }),
  })
  .map(({ start, count, width }) =>
    Array.from({ length: count }, (_, index) => `${start}${String(index * 7).padStart(width, '0')}.jpg`),
  );
/** Of all kinds, and of one. */
const hostileKeys = fc
  .tuple(fc.array(hostileKey, { maxLength: 60 }), fc.array(folderOfNumbers, { maxLength: 4 }))
  .map(([some, folders]) => [...new Set([...some, ...folders.flat()])].map((key) => `in/${key}`));

const placesOf = fc.array(fc.tuple(hostileKey, fc.integer({ min: -1, max: 9_000 })), { maxLength: 12 });
const known = placesOf.map((places) =>
  [...new Map(places)]
    .map(([last, objects]) => ({ last: `in/${last}`, objects }))
    .sort((a, b) => compareKeys(a.last, b.last)),
);

describe('a parallel listing', () => {
  it('equals the sorted keys, whatever is known of them', async () => {
    const sizes = { pageSize: fc.integer({ min: 1, max: 7 }), seed: fc.integer() };
    const limits = {
      readers: fc.integer({ min: 1, max: 9 }),
      pagesHeld: fc.integer({ min: 1, max: 20 }),
      pagesApart: fc.integer({ min: 1, max: 5 }),
    };
    await fc.assert(
      fc.asyncProperty(
        hostileKeys,
        known,
        fc.record(sizes),
        fc.record(limits),
        async (keys, ranges, { pageSize, seed }, options) => {
          const store = new HastyStore(seed);
          store.pageSize = pageSize;
          for (const key of [...keys, 'im/before', 'in0', 'io/after']) store.seed(key, 'x');
          expect(await listed(store, 'in/', { ...options, known: ranges })).toEqual(store.keys('in/'));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('holds once what stays while keys come and go', async () => {
    await fc.assert(
      fc.asyncProperty(hostileKeys, hostileKeys, known, fc.integer(), async (before, fresh, ranges, seed) => {
        const store = new HastyStore(seed);
        store.pageSize = 3;
        for (const key of before) store.seed(key, 'x');
        const choose = seededUint32(seed);
        const [coming, going] = [[...fresh], before.filter((_, index) => index % 3 === 0)];
        const kept = before.filter((key) => !going.includes(key));
        store.meanwhile = () => {
          if (choose() % 2 === 0) store.objects.delete(going.pop() ?? '');
          else store.seed(coming.pop() ?? 'im/other', 'x');
        };
        const found = await listed(store, 'in/', { known: ranges });
        expect(found).toEqual([...new Set(found)].sort(compareKeys));
        expect(found).toEqual(expect.arrayContaining(kept));
        const everThere = new Set([...before, ...fresh]);
        expect(found.filter((key) => !everThere.has(key))).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });

  it('throws a failure after all requests have ended', async () => {
    const store = new HastyStore(1);
    store.pageSize = 5;
    for (let index = 0; index < 500; index += 1) store.seed(`in/${String(index).padStart(6, '0')}`, 'x');
    let [sent, ended] = [0, 0];
    const plain = store.listPage.bind(store);
    store.listPage = async (prefix, options) => {
      sent += 1;
      const isLast = sent === 40;
      const page = await plain(prefix, options);
      ended += 1;
      if (isLast) throw new Error('SlowDown');
      return page;
    };
    await expect(listed(store, 'in/')).rejects.toThrow('SlowDown');
    expect(ended).toBe(sent);
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

  it('asks once for what fits on a page', async () => {
    const store = new MemoryBlobStore();
    for (let index = 0; index < 1_000; index += 1) store.seed(`in/${index}`, 'x');
    let requests = 0;
    const plain = store.listPage.bind(store);
    store.listPage = (prefix, options) => {
      requests += 1;
      return plain(prefix, options);
    };
    await listed(store, 'in/', { known: [{ last: 'in/5', objects: 100 }] });
    expect(requests).toBe(1);
  });
});

const KEYS = 15_000;
const PAGE = 25;

describe('a parallel listing of 600 pages', () => {
  it.each(KEY_FORMS)('takes less than a sixth of the turns: %s', async (_name, nameOf) => {
    const keys = keysOf(KEYS, nameOf).map((key) => `in/${key}`);
    const store = new TurnStore(keys);
    store.pageSize = PAGE;
    const found: string[] = [];
    for await (const { objects } of listInParallel(store, 'in/'))
      found.push(...objects.map(({ key }) => key));
    expect(found).toEqual(keys);
    const pages = keys.length / PAGE;
    expect(store.turns).toBeLessThan(pages / 6);
    expect(store.requests).toBeLessThan(pages * 1.5);
  });
});

describe('a key between two others', () => {
  const key = fc
    .oneof(hostileKey, fc.string({ unit: 'grapheme', maxLength: 8 }))
    .filter((text) => text.isWellFormed());

  it('lies between them', () => {
    fc.assert(
      fc.property(key, key, (a, b) => {
        const [low, high] = compareKeys(a, b) < 0 ? [a, b] : [b, a];
        // Of the keys nothing is learned.
        const range = { after: low, until: high, stretch: { from: 'a', to: 'b', pages: 1 } };
        const middle = new ListingGuesses('', 1).placeIn(range)?.key;
        if (middle === undefined) return;
        expect(compareKeys(low, middle)).toBeLessThan(0);
        expect(compareKeys(middle, high)).toBeLessThanOrEqual(0);
      }),
    );
  });

  it('is valid and lies ahead, if counted on', () => {
    fc.assert(
      fc.property(
        fc.array(key, { minLength: 2, maxLength: 20 }),
        key,
        fc.double({ min: 0.1, max: 99 }),
        (all, at, pages) => {
          const keys = [...new Set(all)].sort(compareKeys).map((each) => `in/${each}`);
          const [from, to] = [keys[0], keys.at(-1)];
          if (from === undefined || to === undefined || from === to) return;
          const alphabets = new KeyAlphabets('in/');
          for (const each of keys) alphabets.learn(each);
          const guess = alphabets.ahead(`in/${at}`, pages, { from, to, pages: 1 });
          if (guess === undefined) return;
          expect(compareKeys(`in/${at}`, guess)).toBeLessThan(0);
          expect(guess.isWellFormed() && guess.startsWith('in/')).toBe(true);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it.each([
    [['in/000', 'in/009', 'in/099'], 'in/100', 'in/200'],
    [['in/a/90', 'in/a/99', 'in/b/00'], 'in/a/99', 'in/b/9'],
  ])('counts on as keys do: %s', (keys, after, beyond) => {
    const alphabets = new KeyAlphabets('in/');
    for (const each of keys) alphabets.learn(each);
    const [from = '', to = ''] = keys;
    const guess = alphabets.ahead(after, 4, { from, to, pages: 1 }) ?? '';
    expect(compareKeys(after, guess)).toBeLessThan(0);
    expect(compareKeys(guess, beyond)).toBeLessThan(0);
  });
});
