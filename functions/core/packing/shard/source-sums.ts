/** The checksums that the store keeps of sources. */
import type { BlobStore, KeptSums } from '../model/blob-store.ts';
import type { PlannedMember } from '../model/documents.ts';

/** Keeps the last answer, because a shard needs that of its first large source twice. */
export class SourceSums {
  readonly #store: BlobStore;
  #last: { readonly source: string; readonly sums: KeptSums } | undefined;

  constructor(store: BlobStore) {
    this.#store = store;
  }

  async of({ key, etag }: Pick<PlannedMember, 'key' | 'etag'>): Promise<KeptSums> {
    const source = JSON.stringify([key, etag]);
    if (this.#last?.source === source) return this.#last.sums;
    const sums = (await this.#store.wholeCheck(key, etag))?.sums ?? {};
    this.#last = { source, sums };
    return sums;
  }
}
