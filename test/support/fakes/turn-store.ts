/** Lists sorted keys by a clock of turns: all requests in flight are answered in one turn, as S3 answers in equal time. */
import { compareKeys } from '@tidewheel/packing/bundles.ts';
import type { ListedBlob, ListOptions } from '@tidewheel/packing/store.ts';
import { MemoryBlobStore } from './memory-blob-store.ts';

const BLOB = { size: 1, etag: 'e', lastModified: '2026-11-22T00:00:00Z' };
export class TurnStore extends MemoryBlobStore {
  turns = 0;
  requests = 0;
  readonly #keys: readonly string[];
  #waiting: (() => void)[] = [];

  constructor(keys: readonly string[]) {
    super();
    this.#keys = keys;
  }

  override async listPage(_prefix: string, { startAfter = '' }: ListOptions = {}) {
    this.requests += 1;
    await new Promise<void>((go) => {
      if (this.#waiting.length === 0)
        setImmediate(() => {
          this.turns += 1;
          for (const each of this.#waiting.splice(0)) each();
        });
      this.#waiting.push(go);
    });
    let [low, high] = [0, this.#keys.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareKeys(this.#keys[middle] ?? '', startAfter) > 0) high = middle;
      else low = middle + 1;
    }
    const objects = this.#keys.slice(low, low + this.pageSize).map((key): ListedBlob => ({ ...BLOB, key }));
    return { objects, prefixes: [], next: low + this.pageSize < this.#keys.length ? 'more' : undefined };
  }
}
