/**
 * Lists a prefix with many readers at once and returns the pages in order. S3 lists 1,000 keys per page, one page
 * after the other, so that two million keys would take minutes. An idle reader splits a range that is still to be
 * read: it asks for the first key after a point in the range's middle. So the spread of the keys need not be known.
 */

import type { BlobStore, ListedBlob } from '../model/blob-store.ts';
import { compareKeys } from '../model/order.ts';

interface ListingLimits {
  /** Requests in flight. */
  readonly readers: number;
  /** Pages held until it is their turn. The range whose turn it is always goes on. */
  readonly pagesHeld: number;
}

const DEFAULT_LISTING: ListingLimits = { readers: 16, pagesHeld: 200 };

export interface ListedPage {
  readonly objects: readonly ListedBlob[];
  readonly serverTime?: number | undefined;
}

/** The keys after `after`, up to and including `until` (undefined: to the end of the prefix). */
interface Range {
  after: string;
  until: string | undefined;
  readonly pages: ListedPage[];
  busy: boolean;
  done: boolean;
  /** The range cannot be split. */
  whole: boolean;
}

const LAST_ASCII = 0x7f;
const AFTER_ASCII = String.fromCodePoint(LAST_ASCII);
const codeAt = (text: string, index: number): number => text.codePointAt(index) ?? 0x1f;

/** `start` followed by a character half way between two others. */
function halfWay(start: string, low: number, high: number): string | undefined {
  if (high - low < 2) return undefined;
  const middle = low + Math.ceil((high - low) / 2);
  const key = start + String.fromCodePoint(middle >= 0xd800 && middle <= 0xdfff ? 0xd7ff : middle);
  return key.isWellFormed() ? key : undefined;
}

/** Most characters behind the first difference that are considered. */
const DEPTH = 24;

/** A key about half way between two others; undefined if a request would not be worth it. */
export function keyBetween(after: string, until: string | undefined): string | undefined {
  let index = 0;
  while (until !== undefined && index < until.length && after[index] === until[index]) index += 1;
  for (let at = index; at <= Math.min(after.length, index + DEPTH); at += 1) {
    const high = at === index && until !== undefined ? codeAt(until, at) : LAST_ASCII;
    const key = halfWay(after.slice(0, at), codeAt(after, at), high);
    if (key !== undefined && compareKeys(after, key) < 0) return key;
  }
  return undefined;
}

/**
 * Probes at the beginning, which find the end of the keys. Later there are as many probes as pages, because both cost
 * the same.
 */
const PROBES_AT_FIRST = 64;

class ParallelListing {
  readonly #store: BlobStore;
  readonly #prefix: string;
  readonly #limits: ListingLimits;
  /** In the order of keys. */
  readonly #ranges: Range[];
  #held = 0;
  #pagesRead = 0;
  #probes = 0;
  #failure: Error | undefined;
  #wake: (() => void)[] = [];

  constructor(store: BlobStore, prefix: string, limits: ListingLimits) {
    this.#store = store;
    this.#prefix = prefix;
    this.#limits = limits;
    // The first page is read before any split, because most listings end with it.
    this.#ranges = [{ after: '', until: undefined, pages: [], busy: false, done: false, whole: true }];
  }

  async *pages(): AsyncGenerator<ListedPage> {
    const readers = Array.from({ length: this.#limits.readers }, () => this.#read());
    try {
      for (let range = this.#ranges[0]; range !== undefined; range = this.#ranges[0]) {
        const page = range.pages.shift();
        if (page !== undefined) {
          this.#held -= 1;
          this.#signal();
          yield page;
        } else if (range.done) {
          this.#ranges.shift();
          this.#signal();
        } else {
          if (this.#failure !== undefined) throw this.#failure;
          await this.#changed();
        }
      }
    } finally {
      this.#failure ??= new Error('the listing was stopped');
      this.#ranges.length = 0;
      this.#signal();
      await Promise.all(readers);
    }
  }

  #signal(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }

  #changed(): Promise<void> {
    return new Promise((resolve) => this.#wake.push(resolve));
  }

  async #read(): Promise<void> {
    while (this.#failure === undefined && this.#ranges.some(({ done }) => !done)) {
      const step = this.#nextStep();
      if (step === undefined) await this.#changed();
      else {
        await step().catch((error: unknown) => {
          this.#failure ??= error instanceof Error ? error : new Error(String(error));
        });
        this.#signal();
      }
    }
  }

  /** Reads the first range that has no reader. If there is none, splits a range that has one. */
  #nextStep(): (() => Promise<void>) | undefined {
    const first = this.#ranges[0];
    const full = this.#held >= this.#limits.pagesHeld;
    const free = this.#ranges.find((range) => !range.busy && !range.done && (range === first || !full));
    if (free !== undefined) return () => this.#readPage(free);
    if (full || this.#probes >= PROBES_AT_FIRST + this.#pagesRead) return undefined;
    const wide = this.#ranges.find((range) => !range.done && !range.whole);
    // No probe has to find the prefix: every key begins with it.
    const middle =
      wide === undefined ? undefined : keyBetween(wide.after, wide.until ?? this.#prefix + AFTER_ASCII);
    if (wide === undefined) return undefined;
    if (middle === undefined) {
      wide.whole = true;
      return undefined;
    }
    wide.whole = true;
    this.#probes += 1;
    return () => this.#split(wide, middle);
  }

  async #readPage(range: Range): Promise<void> {
    range.busy = true;
    const after = range.after === '' ? {} : { startAfter: range.after };
    const page = await this.#store.listPage(this.#prefix, after);
    range.busy = false;
    this.#pagesRead += 1;
    const { until } = range;
    const objects =
      until === undefined ? page.objects : page.objects.filter(({ key }) => compareKeys(key, until) <= 0);
    const last = page.objects.at(-1)?.key;
    const first = range.after === '';
    range.done = page.next === undefined || last === undefined || objects.length < page.objects.length;
    if (last !== undefined) range.after = last;
    if (first) range.whole = false;
    if (objects.length === 0) return;
    range.pages.push({ objects, serverTime: page.serverTime });
    this.#held += 1;
  }

  /** The first key after the middle begins a new range. Without such a key the upper half is empty. */
  async #split(range: Range, middle: string): Promise<void> {
    const probe = await this.#store.listPage(this.#prefix, { startAfter: middle, maximum: 1 });
    const found = probe.objects[0]?.key;
    range.whole = false;
    if (range.done || compareKeys(range.after, middle) >= 0) return;
    const { until } = range;
    const inside = found !== undefined && (until === undefined || compareKeys(found, until) <= 0);
    range.until = middle;
    if (!inside) return;
    const upper: Range = { after: middle, until, pages: [], busy: false, done: false, whole: false };
    this.#ranges.splice(this.#ranges.indexOf(range) + 1, 0, upper);
  }
}

/** Every object under the prefix, in the store's order, in pages of up to 1,000. */
export const listInParallel = (
  store: BlobStore,
  prefix: string,
  limits = DEFAULT_LISTING,
): AsyncGenerator<ListedPage> => new ParallelListing(store, prefix, limits).pages();
