/** Finds in a listing what no generation has packed or rejected, and opens sealed lists only where the listing changed. */

import type { ListedBlob } from '../documents/blob-store.ts';
import type { ListedRange, RangeCollector } from '../documents/listed-ranges.ts';
import { MultisetHash } from '../documents/multiset-hash.ts';
import { compareKeys } from '../documents/order.ts';
import type { RemovedObjects } from './removed-objects.ts';
import { type ArrivalState, type SealedFilter } from './sealed-filter.ts';
import type { WholeSamples } from './whole-samples.ts';

interface Finding {
  /** The ranges in which everything was sealed, in order. */
  readonly known: readonly ListedRange[];
  readonly stateOf: SealedFilter;
  readonly samples: WholeSamples;
  readonly listed: RangeCollector;
  /** Only where deletions count, and then no range is known. */
  readonly removed?: RemovedObjects | undefined;
}

/** Takes the pages of a listing in order. It holds the objects of one range until the range's end. */
export class NewArrivals {
  readonly #finding: Finding;
  #range = 0;
  #held: ListedBlob[] = [];
  /** The range at hand holds something else than before. */
  #isChanged = false;

  constructor(finding: Finding) {
    this.#finding = finding;
  }

  async see(objects: readonly ListedBlob[]): Promise<void> {
    const { known } = this.#finding;
    for (const object of objects) {
      let range = known[this.#range];
      while (range !== undefined && compareKeys(range.last, object.key) < 0) {
        await this.#end(range);
        range = known[this.#range];
      }
      if (range === undefined || this.#isChanged) {
        const taking = this.#take(object);
        if (taking !== undefined) await taking;
        continue;
      }
      this.#held.push(object);
      if (this.#held.length > range.objects) await this.#release();
    }
  }

  /** The next range is as it was: nothing of it is listed. Call it at the end of a range. */
  keepRange(): void {
    const range = this.#finding.known[this.#range];
    if (range === undefined) return;
    this.#finding.listed.keep(range);
    this.#range += 1;
  }

  /** All of the next range was seen. */
  async endRange(): Promise<void> {
    const range = this.#finding.known[this.#range];
    if (range !== undefined) await this.#end(range);
  }

  /** @returns the ranges of the whole listing */
  async finish(): Promise<readonly ListedRange[]> {
    await this.endRange();
    await this.#noteRemoved(undefined);
    this.#finding.samples.finish();
    return this.#finding.listed.ranges();
  }

  async #end(range: ListedRange): Promise<void> {
    if (!this.#isChanged && holds(range, this.#held)) {
      await this.#finding.samples.passSealed(this.#held, this.#finding.stateOf);
      this.#held = [];
      this.#finding.listed.keep(range);
    } else await this.#release();
    this.#isChanged = false;
    this.#range += 1;
  }

  async #release(): Promise<void> {
    const held = this.#held;
    this.#held = [];
    this.#isChanged = true;
    for (const object of held) {
      const taking = this.#take(object);
      if (taking !== undefined) await taking;
    }
  }

  #take(object: ListedBlob): void | Promise<void> {
    if (this.#finding.removed === undefined) return this.#look(object);
    return this.#noteRemoved(object.key).then(() => this.#look(object));
  }

  async #noteRemoved(before: string | undefined): Promise<void> {
    const { removed, samples } = this.#finding;
    for (const object of (await removed?.before(before)) ?? []) samples.seeRemoved(object);
  }

  #look(object: ListedBlob): void | Promise<void> {
    const state = this.#finding.stateOf(object);
    if (typeof state !== 'string') return state.then((is) => this.#note(object, is));
    this.#note(object, state);
  }

  #note(object: ListedBlob, state: ArrivalState): void {
    this.#finding.samples.see(object, state);
    const isOver = state === 'sealed' || state === 'superseded';
    this.#finding.listed.add(object.key, object.etag, !isOver);
  }
}

function holds({ objects, digest }: ListedRange, held: readonly ListedBlob[]): boolean {
  if (held.length !== objects) return false;
  const found = new MultisetHash();
  for (const { key, etag } of held) found.add(key, etag);
  return found.digest === digest;
}
