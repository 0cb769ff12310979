/**
 * Lists a prefix by many requests at once and returns the pages in order. S3 lists 1,000 keys per page, one page after
 * the other, so that ten million keys would take a quarter of an hour.
 *
 * The keys are read in ranges of a few pages, nearest first, because pages wait in memory until it is their turn. Where a
 * range begins is known from an earlier listing, or guessed from the keys seen. A wrong guess costs time, or a request
 * that finds nothing: every key of the prefix belongs to exactly one range, wherever the ranges begin.
 */

import type { BlobStore, ListedBlob, ListPage } from '../documents/blob-store.ts';
import { checkPage, compareKeys } from '../documents/order.ts';
import { ListingGuesses, type Stretch } from './listing-guesses.ts';

interface ListingLimits {
  /** Requests in flight. */
  readonly readers: number;
  /** Pages held until it is their turn, with those in flight. */
  readonly pagesHeld: number;
  /** Pages between the places that are read at once. */
  readonly pagesApart: number;
}

/**
 * 160 requests a second at 0.1 s each, of the 5,500 that S3 serves under a prefix. A page with its text takes up to
 * half a megabyte.
 */
const DEFAULT_LISTING: ListingLimits = { readers: 16, pagesHeld: 200, pagesApart: 8 };

export interface ListedPage {
  readonly objects: readonly ListedBlob[];
  readonly serverTime?: number | undefined;
}

/** The keys behind the range before, up to and including `last`. */
interface KnownRange {
  readonly last: string;
  /** How many an earlier listing found. Negative: unknown. */
  readonly objects: number;
}

/** The keys after `start`, up to and including `until` (undefined: to the end of the prefix). */
interface Range {
  readonly start: string;
  until: string | undefined;
  /** Read up to and including this key. */
  after: string;
  /** Read and not yet returned. */
  readonly pages: ListedPage[];
  /** A request is in flight. */
  isBusy: boolean;
  /** Nothing is left to be read. */
  isDone: boolean;
  /** The end of the page that was read last, in this range or in the one that it was split from. */
  stretch: Stretch | undefined;
  /** Keys that an earlier listing found and this one has not yet read. */
  keysLeft: number;
  /** It begins at a guess and has no answer yet. */
  isGuess: boolean;
  /** No place to split it was found since the last page. */
  isWhole: boolean;
}

const rangeOf = (start: string, until: string | undefined): Range => ({
  start,
  until,
  after: start,
  pages: [],
  isBusy: false,
  isDone: false,
  stretch: undefined,
  keysLeft: 0,
  isGuess: false,
  isWhole: false,
});

/** No key lies between these (undefined: behind the first). */
interface Gap {
  readonly after: string;
  readonly before: string | undefined;
}

const isIn = ({ after, before }: Gap, key: string): boolean =>
  compareKeys(key, after) >= 0 && (before === undefined || compareKeys(key, before) < 0);

const isUntouched = ({ start, after, pages, isBusy, isDone }: Range): boolean =>
  after === start && pages.length === 0 && !isBusy && !isDone;

const PAGE_KEYS = 1_000;
/** Answers without a key that are allowed beside one for every other. Then nothing is guessed any more. */
const EMPTY_AT_FIRST = 64;

class ParallelListing {
  readonly #store: BlobStore;
  readonly #prefix: string;
  readonly #limits: ListingLimits;
  readonly #known: readonly KnownRange[];
  readonly #guesses: ListingGuesses;
  /** In the order of keys. */
  readonly #ranges = [rangeOf('', undefined)];
  readonly #inFlight = new Set<Promise<void>>();
  /** Pages that wait. */
  #held = 0;
  /** Answers with keys, and without. */
  #found = 0;
  #empty = 0;
  /** Ranges that begin at a guess and have no answer yet, and how many there may be. */
  #guessed = 0;
  #mostGuessed = 1;
  /** The range that was begun blindly. Its first answer decides on the next. */
  #blind: Range | undefined;
  /** Found last. */
  readonly #gaps: Gap[] = [];
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(store: BlobStore, prefix: string, { known = [], ...limits }: ListingLimits & Known) {
    this.#store = store;
    this.#prefix = prefix;
    this.#limits = limits;
    this.#known = known;
    this.#guesses = new ListingGuesses(prefix, limits.pagesApart);
  }

  async *pages(): AsyncGenerator<ListedPage> {
    try {
      for (let range = this.#ranges[0]; range !== undefined; range = this.#ranges[0]) {
        this.#send();
        const page = range.pages.shift();
        if (page !== undefined) {
          this.#held -= 1;
          this.#guesses.returned(page.objects);
          yield page;
        } else if (range.isDone) this.#ranges.shift();
        else {
          if (this.#failure !== undefined) throw this.#failure;
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      this.#failure ??= new Error('the listing was stopped');
      await Promise.all(this.#inFlight);
    }
  }

  #send(): void {
    while (this.#failure === undefined && this.#inFlight.size < this.#limits.readers) {
      const range = this.#next();
      if (range === undefined) return;
      range.isBusy = true;
      const reading = this.#read(range)
        .catch((error: unknown) => {
          this.#failure ??= error instanceof Error ? error : new Error(String(error));
        })
        .finally(() => {
          this.#inFlight.delete(reading);
          this.#send();
          this.#wake?.();
        });
      this.#inFlight.add(reading);
    }
  }

  /** The nearest range that can be read: one that no reader has, or a part of one. */
  #next(): Range | undefined {
    if (this.#held + this.#inFlight.size < this.#limits.pagesHeld) return this.#nextOf(this.#ranges.length);
    const [first] = this.#ranges;
    if (first !== undefined && !first.isBusy && !first.isDone) return first;
    // Rather than let most readers rest, the most distant page is forgotten and read again later.
    if (!this.#isIdle) return undefined;
    const next = this.#nextOf(this.#farthest());
    if (next !== undefined) this.#forgetFarthest();
    return next;
  }

  /** @param end index of the first range that does not count */
  #nextOf(end: number): Range | undefined {
    for (let index = 0; index < end; index += 1) {
      const range = this.#ranges[index];
      if (range === undefined || range.isDone) continue;
      const found = range.isBusy ? this.#split(range, index) : range;
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #farthest(): number {
    return this.#ranges.findLastIndex(({ pages, isBusy }) => pages.length > 0 && !isBusy);
  }

  #forgetFarthest(): void {
    const range = this.#ranges[this.#farthest()];
    const page = range?.pages.pop();
    if (range === undefined || page === undefined) return;
    this.#held -= 1;
    range.isDone = false;
    range.isWhole = false;
    range.keysLeft += page.objects.length;
    range.after = range.pages.at(-1)?.objects.at(-1)?.key ?? range.start;
  }

  #split(range: Range, index: number): Range | undefined {
    if (range.isWhole || range.keysLeft > 0 || this.#guessed >= this.#mostGuessed) return undefined;
    if (this.#empty > EMPTY_AT_FIRST + this.#found) return undefined;
    const guess = this.#guesses.placeIn(range);
    range.isWhole = guess === undefined;
    if (guess === undefined || (guess.isBlind && !this.#mayGuessBlindly)) return undefined;
    if (this.#gaps.some((gap) => isIn(gap, guess.key))) return undefined;
    const upper: Range = { ...rangeOf(guess.key, range.until), stretch: range.stretch, isGuess: true };
    this.#guessed += 1;
    if (guess.isBlind) this.#blind = upper;
    range.until = guess.key;
    this.#ranges.splice(index + 1, 0, upper);
    return upper;
  }

  /** One at a time, and only if most readers rest. */
  get #mayGuessBlindly(): boolean {
    return this.#blind === undefined && this.#isIdle;
  }

  get #isIdle(): boolean {
    return this.#inFlight.size < this.#limits.readers / 2;
  }

  async #read(range: Range): Promise<void> {
    const { after } = range;
    let page = await this.#store.listPage(this.#prefix, after === '' ? {} : { startAfter: after });
    // S3 does not say that a page before the last one has a key.
    while (page.objects.length === 0 && page.next !== undefined)
      page = await this.#store.listPage(this.#prefix, { next: page.next });
    checkPage(page.objects, { prefix: this.#prefix, after });
    range.isBusy = false;
    range.isWhole = false;
    if (this.#blind === range) this.#blind = undefined;
    const [first, last] = [page.objects[0]?.key, page.objects.at(-1)?.key ?? after];
    this.#widen(range, last);
    range.isDone = page.next === undefined || isAtEnd(range, last);
    if (page.next === undefined) this.#endAfter(last);
    const objects = keysUpTo(range.until, page);
    if (range.isGuess) this.#learnFrom(range, objects.length > 0);
    if (objects.length > 0) this.#keep(range, objects, page);
    else {
      this.#empty += 1;
      this.#guesses.noteEmpty();
      this.#addGap({ after, before: first });
    }
  }

  /** As TCP finds how much a network takes: one more for each that was right, half for each that was wrong. */
  #learnFrom(range: Range, isRight: boolean): void {
    range.isGuess = false;
    this.#guessed -= 1;
    this.#mostGuessed = isRight ? this.#mostGuessed + 1 : Math.ceil(this.#mostGuessed / 2);
    this.#mostGuessed = Math.min(this.#mostGuessed, this.#limits.readers);
  }

  /** @param objects those of the page that belong to the range */
  #keep(range: Range, objects: readonly ListedBlob[], page: ListPage): void {
    const { after, stretch } = range;
    const last = page.objects.at(-1)?.key ?? after;
    this.#found += 1;
    this.#held += 1;
    range.pages.push({ objects, serverTime: page.serverTime });
    range.after = objects.at(-1)?.key ?? after;
    range.keysLeft -= objects.length;
    if (page.next !== undefined && stretch?.to === after) this.#guesses.compare(stretch, last);
    range.stretch = this.#guesses.learn(page.objects) ?? stretch;
    if (this.#found === 1 && !range.isDone) this.#divide(range);
  }

  /** Other readers may be on their way into the gap. No more follow them. */
  #addGap(gap: Gap): void {
    this.#gaps.push(gap);
    if (this.#gaps.length > this.#limits.readers) this.#gaps.shift();
  }

  /** Takes over what a page holds of the ranges behind, which no reader has begun. */
  #widen(range: Range, last: string): void {
    const at = this.#ranges.indexOf(range) + 1;
    for (let next = this.#ranges[at]; next !== undefined && isUntouched(next); next = this.#ranges[at]) {
      if (range.until === undefined || compareKeys(last, range.until) <= 0) return;
      const isWithin = next.until === undefined || compareKeys(last, next.until) < 0;
      range.until = isWithin ? last : next.until;
      this.#ranges.splice(at, 1, ...(isWithin ? [{ ...next, start: last, after: last }] : []));
    }
  }

  /** Nothing lies behind this key. */
  #endAfter(key: string): void {
    this.#addGap({ after: key, before: undefined });
    for (const range of this.#ranges)
      if (!range.isBusy && compareKeys(range.after, key) >= 0) range.isDone = true;
  }

  /** Into ranges of some pages each, as an earlier listing knows them. The last remains open. */
  #divide(first: Range): void {
    const divided = [first];
    const end = first.until;
    let range = first;
    let [keys, until] = [0, first.after];
    const begin = (): void => {
      range.until = until;
      range = rangeOf(until, end);
      divided.push(range);
    };
    for (const { last, objects } of this.#known) {
      if (compareKeys(last, until) <= 0) continue;
      if (keys > 0 && keys + objects > this.#limits.pagesApart * PAGE_KEYS) {
        begin();
        keys = 0;
      }
      keys += objects < 0 ? PAGE_KEYS : objects;
      range.keysLeft = keys;
      until = last;
    }
    if (keys > 0) begin();
    this.#ranges.splice(this.#ranges.indexOf(first), 1, ...divided);
  }
}

const isAtEnd = ({ until }: Range, last: string): boolean =>
  until !== undefined && compareKeys(last, until) >= 0;

function keysUpTo(until: string | undefined, { objects }: ListPage): readonly ListedBlob[] {
  const last = objects.at(-1)?.key ?? '';
  if (until === undefined || compareKeys(last, until) <= 0) return objects;
  return objects.filter(({ key }) => compareKeys(key, until) <= 0);
}

interface Known {
  /** In order. What an earlier listing found only saves time: it may have changed since. */
  readonly known?: readonly KnownRange[];
}

/** Every object under the prefix, in the store's order, in pages of up to 1,000. */
export const listInParallel = (
  store: BlobStore,
  prefix: string,
  options: Partial<ListingLimits> & Known = {},
): AsyncGenerator<ListedPage> =>
  new ParallelListing(store, prefix, { ...DEFAULT_LISTING, ...options }).pages();
