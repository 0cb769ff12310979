/** What the store keeps of sources that their bytes can be compared with. */
import type { BlobStore, KeptSums, WholeCheck } from '../documents/blob-store.ts';
import type { PlannedMember } from '../documents/documents.ts';

type Source = Pick<PlannedMember, 'key' | 'etag'>;

/** Keeps the last answer, because a shard needs that of its first large source twice. */
export class SourceSums {
  readonly #store: BlobStore;
  #last: { readonly source: string; readonly check: WholeCheck | undefined } | undefined;

  constructor(store: BlobStore) {
    this.#store = store;
  }

  async of(source: Source): Promise<KeptSums> {
    const check = await this.#ask(source);
    this.#last = { source: nameOf(source), check };
    return check?.sums ?? {};
  }

  /** For one comparison. */
  async take(source: Source): Promise<WholeCheck | undefined> {
    const check = await this.#ask(source);
    this.#last = undefined;
    return check;
  }

  async #ask(source: Source): Promise<WholeCheck | undefined> {
    if (this.#last?.source === nameOf(source)) return this.#last.check;
    return this.#store.wholeCheck(source.key, source.etag);
  }
}

const nameOf = ({ key, etag }: Source): string => JSON.stringify([key, etag]);
