/** A walk through what one generation packed or rejected, in the order of the bucket's listing. */
import type { OnChange } from '@tidewheel/declaration/pipeline.ts';
import { contentEtag } from '../arrivals/bundle-place.ts';
import type { IsLapsed } from '../arrivals/rejected-keys.ts';
import { keysRetracted, type Retraction } from '../arrivals/retractions.ts';
import type { BlobReader } from '../documents/blob-store.ts';
import { linesOf } from '../documents/compressed-lines.ts';
import { type Manifest, type SealedLine, sealedLine } from '../documents/manifest.ts';
import { compareKeys } from '../documents/order.ts';
import { listingsOf, sealedText } from '../documents/sealed-lines.ts';
import type { Retracted } from '../formats/retracted-bytes.ts';

type Part = Manifest['arrivals']['parts'][number];

/**
 * `lapsed`: rejected for its label under other annotations, or by a rule that is not declared any more. `incomplete`: a
 * correction that lacked the rest of its sample. `late`: the rest of its sample did not arrive in time. `removed`: it was
 * deleted. `other`: only other ETags of the key.
 */
export type Found = 'same' | 'lapsed' | 'incomplete' | 'late' | 'retracted' | 'removed' | 'other' | 'none';

export type Fate = 'packed' | 'rejected';

/** What a generation says last of a key. */
export interface Statement {
  readonly found: Found;
  /** When the listing began that it comes from. Milliseconds since 1970. */
  readonly listedAt: number;
  /** The same of this arrival, where its rejection has lapsed. */
  readonly lapsedAt: number;
  /** Its bytes are packed, under this ETag or that of the same bytes. */
  readonly isHeld: boolean;
  /** When this arrival was last noted as no news. */
  readonly unchangedAt: number;
}

const NEVER = Number.NEGATIVE_INFINITY;
export const NOTHING_SAID: Statement = {
  found: 'none',
  listedAt: NEVER,
  lapsedAt: NEVER,
  isHeld: false,
  unchangedAt: NEVER,
};

export interface FindRules {
  /**
   * Version of the file of annotations. Arrivals that were rejected for their label under another version are packed
   * again.
   */
  readonly annotations?: string | undefined;
  /** By default none is. */
  readonly isLapsed?: IsLapsed | undefined;
  /**
   * `keep`: an arrival is sealed if any generation holds it. `replace`: only if it is what was listed last of its key, so
   * going back to earlier bytes is a change.
   */
  readonly onChange: OnChange;
}

/** Walks one generation's sorted arrivals. It opens a part only when the walk reaches it. */
export class GenerationCursor {
  readonly #store: BlobReader;
  readonly #manifest: Pick<Manifest, 'pipeline' | 'generation'>;
  readonly #parts: readonly Part[];
  #part = 0;
  #lines: Iterator<string> | undefined;
  #key = '';
  #etag = '';
  #size = 0;
  #outcome: SealedLine[3] = 0;
  /** Version of the annotations, the packed ETag, or the sum of retracted bytes. */
  #note: string | undefined;
  readonly #annotations: string | undefined;
  readonly #isJoined: boolean;
  /** Of its arrivals. Milliseconds since 1970. */
  readonly #listings: readonly number[];
  #listing = 0;
  /** The newest of them. */
  readonly lastListing: number;
  /** The newest listing that found an object of the key at hand. */
  #foundAt = 0;

  /** Keys of samples that the next compaction leaves out. */
  readonly #leaving: ReadonlySet<string>;
  readonly #saysRetracted: boolean;

  constructor(store: BlobReader, manifest: Manifest, retractions: readonly Retraction[] = []) {
    this.#leaving = keysRetracted(retractions, manifest.retractions);
    this.#saysRetracted = manifest.rejections.byReason['retracted'] !== undefined;
    this.#store = store;
    this.#annotations = manifest.annotations?.version;
    this.#isJoined = manifest.compacted !== undefined;
    this.#listings = listingsOf(manifest).map((at) => Date.parse(at));
    this.lastListing = Date.parse(manifest.listedAt);
    this.#manifest = { pipeline: manifest.pipeline, generation: manifest.generation };
    this.#parts = manifest.arrivals.parts;
  }

  /** Whether a listing that found the key has seen this bundle. S3 cuts LastModified down to whole seconds. */
  hasSeen(bundledAt: string | undefined): boolean {
    return bundledAt !== undefined && Date.parse(bundledAt) + 1_000 <= this.#foundAt;
  }

  /** What became of this arrival in the generation. For a cursor that finds nothing else. */
  async fateOf(key: string, etag: string): Promise<Fate | undefined> {
    let fate: Fate | undefined;
    await this.#walk(key, () => {
      if (contentEtag(this.#etag) === contentEtag(etag))
        fate = typeof this.#outcome === 'number' || this.#outcome === 'unchanged' ? 'packed' : 'rejected';
      return fate === 'packed';
    });
    return fate;
  }

  /** What the generation calls retracted of this key. For a cursor that finds nothing else. */
  async retracted(key: string): Promise<readonly Retracted[]> {
    const all: Retracted[] = [];
    if (!this.#saysRetracted && !this.#leaving.has(key)) return all;
    await this.#walk(key, () => {
      const isLeaving = typeof this.#outcome === 'number' && this.#leaving.has(key);
      if (this.#outcome === 'retracted' || isLeaving)
        all.push({ etag: this.#etag, size: this.#size, sum: this.#note });
      return false;
    });
    return all;
  }

  /**
   * Whether the generation packed or rejected this key: of one of these ETags, or only of others. The caller must ask
   * for keys in order, each once. A joined generation may hold several ETags of one key: the newest listed counts. An
   * arrival whose rejection has lapsed is to be packed, so the lines before it count.
   */
  async find(key: string, etags: readonly string[], rules: FindRules): Promise<Statement> {
    let last = NOTHING_SAID;
    this.#foundAt = 0;
    const own = etags.map(contentEtag);
    await this.#walk(key, () => {
      this.#foundAt = Math.max(this.#foundAt, this.#listings[this.#listing] ?? 0);
      const isOwn = own.includes(contentEtag(this.#etag));
      if (isOwn) last = this.#withHeld(last);
      if (!this.#saysNothing && (isOwn || rules.onChange === 'replace'))
        last = this.#newer(last, isOwn, rules);
      return false;
    });
    return last;
  }

  /** Earlier releases noted no listings: then the whole generation is as new as its newest listing. */
  get #listedAt(): number {
    return this.#listings[this.#listing] || this.lastListing;
  }

  #withHeld(last: Statement): Statement {
    if (this.#outcome === 'unchanged')
      return { ...last, unchangedAt: Math.max(this.#listedAt, last.unchangedAt) };
    return typeof this.#outcome === 'number' ? { ...last, isHeld: true } : last;
  }

  #newer(last: Statement, isOwn: boolean, rules: FindRules): Statement {
    const listedAt = this.#listedAt;
    const found = isOwn ? this.#sameAs(rules) : 'other';
    if (found === 'lapsed') return { ...last, lapsedAt: Math.max(listedAt, last.lapsedAt) };
    const isNewer = listedAt > last.listedAt || (listedAt === last.listedAt && isOwn);
    return isNewer ? { ...last, found, listedAt } : last;
  }

  get #saysNothing(): boolean {
    // A compaction has left out what was removed, so it is as if it had never been.
    return this.#outcome === 'unchanged' || (this.#outcome === 'removed' && this.#isJoined);
  }

  /** Whether an object of this key is packed, whatever its ETag. For a cursor that finds nothing else. */
  async holds(key: string): Promise<boolean> {
    let isPacked = false;
    await this.#walk(key, () => {
      isPacked ||= typeof this.#outcome === 'number';
      return isPacked;
    });
    return isPacked;
  }

  /** The ETag of the packed object that has the bytes of this one. For a cursor that finds nothing else. */
  async packedEtag(key: string, etag: string): Promise<string | undefined> {
    let packed: string | undefined;
    await this.#walk(key, () => {
      if (this.#outcome === 'unchanged' && contentEtag(this.#etag) === contentEtag(etag)) packed = this.#note;
      return packed !== undefined;
    });
    return packed;
  }

  /** Goes from line to line of the key, until one is enough. */
  async #walk(key: string, isEnough: () => boolean): Promise<void> {
    let part = this.#parts[this.#part];
    while (part !== undefined && compareKeys(part.last, key) < 0) part = this.#skip();
    while (part !== undefined && compareKeys(part.first, key) <= 0) {
      if (this.#lines === undefined) await this.#open(part);
      while (this.#lines !== undefined && compareKeys(this.#key, key) < 0) this.#step();
      for (; this.#lines !== undefined && this.#key === key; this.#step()) if (isEnough()) return;
      // A key may go on in the next part.
      if (this.#lines !== undefined) return;
      part = this.#skip();
    }
  }

  /** Other annotations may have a label that was missing, and the rest of a sample may come again. */
  #sameAs({ annotations, isLapsed }: FindRules): Found {
    const outcome = this.#outcome;
    if (outcome === 'correctionIncomplete') return 'incomplete';
    if (outcome === 'requiredMissing') return 'late';
    if (outcome === 'retracted' || outcome === 'removed') return outcome;
    if (outcome === 'labelMissing' || outcome === 'labelDoubled')
      return (this.#note ?? this.#annotations) === annotations ? 'same' : 'lapsed';
    return typeof outcome === 'string' && isLapsed?.(this.#key, outcome) === true ? 'lapsed' : 'same';
  }

  #skip(): Part | undefined {
    this.#part += 1;
    this.#lines = undefined;
    this.#key = '';
    return this.#parts[this.#part];
  }

  async #open(part: Part): Promise<void> {
    this.#lines = linesOf(await sealedText(this.#store, this.#manifest, part));
    this.#step();
  }

  #step(): void {
    const next = this.#lines?.next();
    if (next === undefined || next.done === true) {
      this.#lines = undefined;
      return;
    }
    const [key, etag, size, outcome, note, listing = 0] = sealedLine.parse(JSON.parse(next.value));
    [this.#key, this.#etag, this.#outcome, this.#listing] = [key, etag, outcome, listing];
    [this.#size, this.#note] = [size, note ?? undefined];
  }
}
