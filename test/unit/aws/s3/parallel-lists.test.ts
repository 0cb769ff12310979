/** A million keys under a prefix, as settle and the hourly sweep list them. */

import type { ListedBlob } from '@tidewheel/packing/store.ts';
import { describe, expect, it } from 'vitest';
import { withParallelLists } from '../../../../functions/aws/s3/parallel-lists.ts';
import { lookAtIncoming } from '../../../../functions/run/ingest/settle-run.ts';
import { fakeClock } from '../../../support/fakes/clock.ts';
import { MemoryBlobStore } from '../../../support/fakes/memory-blob-store.ts';
import { memoryObjectStore } from '../../../support/fakes/object-store.ts';

const KEYS = 1_000_000;
const PAGE = 1_000;
const PREFIX = 'tide/incoming/';
const keyOf = (index: number): string => `${PREFIX}photo-${String(index).padStart(7, '0')}.jpg`;

/** Makes its keys when they are listed. Every request takes one turn. */
class EndlessStore extends MemoryBlobStore {
  requests = 0;
  turns = 0;
  /** Pages that were answered and not yet read. */
  held = 0;
  mostHeld = 0;
  #waiting: (() => void)[] = [];

  override async listPage(_prefix: string, { startAfter = '', maximum = PAGE } = {}) {
    this.requests += 1;
    await this.#turn();
    const first = firstAfter(startAfter);
    const count = Math.min(maximum, KEYS - first);
    if (maximum === PAGE) this.held += 1;
    this.mostHeld = Math.max(this.mostHeld, this.held);
    const objects = Array.from(
      { length: count },
      (_, index): ListedBlob => ({
        key: keyOf(first + index),
        size: 10,
        etag: 'e',
        lastModified: '2026-11-22T00:00:00Z',
      }),
    );
    return { objects, prefixes: [], next: first + count < KEYS ? 'more' : undefined };
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.length === 0)
        setImmediate(() => {
          this.turns += 1;
          for (const go of this.#waiting.splice(0)) go();
        });
      this.#waiting.push(resolve);
    });
  }
}

/** The number of the first key after a text. */
function firstAfter(text: string): number {
  let low = 0;
  let high = KEYS;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (keyOf(middle) > text) high = middle;
    else low = middle + 1;
  }
  return low;
}

const listed = (store: EndlessStore) =>
  withParallelLists(memoryObjectStore(fakeClock()), () => Promise.resolve(store)).list(PREFIX);

describe('a list of a million keys', () => {
  it('takes few turns and bounded memory', async () => {
    const store = new EndlessStore();
    async function* counted() {
      let read = 0;
      for await (const object of listed(store)) {
        read += 1;
        if (read % PAGE === 0) store.held -= 1;
        yield object;
      }
    }
    const observed = await lookAtIncoming(counted(), { prefix: PREFIX, now: new Date() });
    expect(observed).toMatchObject({ objects: KEYS, bytes: 10 * KEYS, marker: false });
    // One page after the other takes 1,000 turns.
    expect(store.turns).toBeLessThan(80);
    expect(store.requests).toBeLessThan(1.1 * (KEYS / PAGE));
    // A page counts here as held while it is being looked at.
    expect(store.mostHeld).toBeLessThan(202);
  }, 60_000);
});
