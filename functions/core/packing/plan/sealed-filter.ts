/** The arrivals that earlier generations packed or rejected, streamed in the order of the bucket's listing. */
import type { OnChange } from '../../pipeline/dataset.ts';
import { contentEtag } from '../arrivals/bundle-place.ts';
import type { BlobStore, ListedBlob } from '../model/blob-store.ts';
import { linesOf } from '../model/compressed-lines.ts';
import { type Manifest, type SealedLine, sealedLine } from '../model/manifest.ts';
import { compareKeys } from '../model/order.ts';
import type { Rejection } from '../model/rejections.ts';
import { listingsOf, sealedText } from '../model/sealed-lines.ts';
import { batchOf } from '../model/versions.ts';

type Part = Manifest['arrivals']['parts'][number];

/**
 * `unlabelled`: rejected for its label under other annotations. `incomplete`: a correction that lacked the rest of its
 * sample. `late`: the rest of its sample did not arrive in time. `removed`: it was deleted. `other`: only other ETags of
 * the key.
 */
type Found = 'same' | 'unlabelled' | 'incomplete' | 'late' | 'retracted' | 'removed' | 'other' | 'none';

/** Walks one generation's sorted arrivals. It opens a part only when the walk reaches it. */
class GenerationCursor {
  readonly #store: BlobStore;
  readonly #manifest: Pick<Manifest, 'pipeline' | 'generation'>;
  readonly #parts: readonly Part[];
  #part = 0;
  #lines: Iterator<string> | undefined;
  #key = '';
  #etag = '';
  #outcome: SealedLine[3] = 0;
  /** Version of the annotations, or the packed ETag. */
  #note: string | undefined;
  readonly #annotations: string | undefined;
  readonly #isJoined: boolean;
  /** Of its arrivals. Milliseconds since 1970. */
  readonly #listings: readonly number[];
  #listing = 0;
  /** The newest listing that found an object of the key at hand. */
  #foundAt = 0;

  constructor(store: BlobStore, manifest: Manifest) {
    this.#store = store;
    this.#annotations = manifest.annotations?.version;
    this.#isJoined = manifest.compacted !== undefined;
    this.#listings = listingsOf(manifest).map((at) => Date.parse(at));
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

  /**
   * Whether the generation packed or rejected this key: of one of these ETags, or only of others. The caller must ask
   * for keys in order, each once. A joined generation may hold several ETags of one key.
   */
  async find(key: string, etags: readonly string[], annotations: string | undefined): Promise<Found> {
    let found: Found = 'none';
    this.#foundAt = 0;
    await this.#walk(key, () => {
      this.#foundAt = Math.max(this.#foundAt, this.#listings[this.#listing] ?? 0);
      if (this.#outcome === 'unchanged') return false;
      // A compaction has left it out, so it is as if it had never been.
      if (this.#outcome === 'removed' && this.#isJoined) return false;
      const own = contentEtag(this.#etag);
      found = etags.some((etag) => contentEtag(etag) === own) ? this.#sameAs(annotations) : 'other';
      return found !== 'other';
    });
    return found;
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
  #sameAs(annotations: string | undefined): Found {
    if (this.#outcome === 'correctionIncomplete') return 'incomplete';
    if (this.#outcome === 'requiredMissing') return 'late';
    if (this.#outcome === 'retracted' || this.#outcome === 'removed') return this.#outcome;
    const wantsLabel = this.#outcome === 'labelMissing' || this.#outcome === 'labelDoubled';
    const isDone = !wantsLabel || (this.#note ?? this.#annotations) === annotations;
    return isDone ? 'same' : 'unlabelled';
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
    const [key, etag, , outcome, note, listing = 0] = sealedLine.parse(JSON.parse(next.value));
    [this.#key, this.#etag, this.#outcome, this.#listing] = [key, etag, outcome, listing];
    this.#note = note ?? undefined;
  }
}

/**
 * `changed`: what is sealed of the key has another ETag. `incomplete`: rejected because the rest of the sample that it
 * corrects was gone. `freed`: rejected for the same reason, but no generation holds an object of this key any more.
 * `late`: rejected because the rest of the sample had not arrived. `retracted`: never to be packed again, whatever else
 * comes of its sample. `removed`: it was deleted. If it is listed, it is there again. `superseded`: a bundle goes on to
 * list it, and the dataset has what came after it.
 */
export type ArrivalState =
  | 'new'
  | 'changed'
  | 'incomplete'
  | 'freed'
  | 'late'
  | 'retracted'
  | 'removed'
  | 'superseded'
  | 'sealed';

/**
 * Must be called in the listing's order.
 * @param bundledAt when the bundle arrived that holds it. A bundle goes on to list what another version has replaced,
 * and that is no news.
 */
export type SealedFilter = (
  key: string,
  etag: string,
  bundledAt?: string,
) => ArrivalState | Promise<ArrivalState>;

export const stateOfListed = (
  stateOf: SealedFilter,
  { key, etag, lastModified }: ListedBlob,
): ReturnType<SealedFilter> => stateOf(key, etag, contentEtag(etag) === etag ? undefined : lastModified);

export interface FilterRules {
  /**
   * Version of the file of annotations. Arrivals that were rejected for their label under another version are packed
   * again.
   */
  readonly annotations?: string | undefined;
  /**
   * `keep`: an arrival is sealed if any generation holds it. `replace`: only if the newest generation that knows the key
   * does, so going back to earlier bytes is a change.
   */
  readonly onChange: OnChange;
  /** A deletion that uncovers what a bundle holds counts: then nothing is superseded. */
  readonly uncovers?: boolean;
}

/** Whether a correction may wait for nothing any more, because the sample that it corrects has left the dataset. */
export const mayBeFreed = (manifests: readonly Manifest[]): boolean =>
  hasAny(manifests, 'correctionIncomplete') &&
  (hasAny(manifests, 'retracted') ||
    hasAny(manifests, 'removed') ||
    manifests.some(({ pruned }) => pruned === true));

const hasAny = (manifests: readonly Manifest[], reason: Rejection): boolean =>
  manifests.some(({ rejections }) => rejections.byReason[reason] !== undefined);

/** @param holding undefined where nothing has left the dataset */
async function isHeld(holding: readonly GenerationCursor[] | undefined, key: string): Promise<boolean> {
  if (holding === undefined) return true;
  for (const cursor of holding) if (await cursor.holds(key)) return true;
  return false;
}

type Fate = 'packed' | 'rejected';

/** Whether any generation has packed an arrival, or only rejected it. Must be called in the listing's order. */
export function sealedFates(
  store: BlobStore,
  manifests: readonly Manifest[],
): (key: string, etag: string) => Promise<Fate | undefined> {
  const cursors = manifests
    .filter(({ arrivals }) => arrivals.parts.length > 0)
    .map((manifest) => new GenerationCursor(store, manifest));
  return async (key, etag) => {
    let known: Fate | undefined;
    for (const cursor of cursors) {
      const fate = await cursor.fateOf(key, etag);
      if (known !== 'packed') known = fate ?? known;
    }
    return known;
  };
}

/** The ETag under which the dataset holds the bytes of this arrival, or its own. */
async function packedEtag(cursors: readonly GenerationCursor[], key: string, etag: string): Promise<string> {
  for (const cursor of cursors) {
    const packed = await cursor.packedEtag(key, etag);
    if (packed !== undefined) return packed;
  }
  return etag;
}

async function anyRetracted(
  cursors: readonly GenerationCursor[],
  key: string,
  etag: string,
): Promise<boolean> {
  for (const cursor of cursors) if ((await cursor.find(key, [etag], undefined)) === 'retracted') return true;
  return false;
}

/** Undefined where an older generation may say more. */
function stateOf(found: Found, onChange: OnChange): ArrivalState | undefined {
  if (found === 'same') return 'sealed';
  if (found === 'incomplete' || found === 'late' || found === 'removed') return found;
  return found === 'other' && onChange === 'replace' ? 'changed' : undefined;
}

/** A filter for a sorted listing: what earlier generations say of each arrival. */
export function sealedFilter(
  store: BlobStore,
  manifests: readonly Manifest[],
  { annotations, onChange, uncovers = false }: FilterRules,
): SealedFilter {
  const open = (some: readonly Manifest[]): GenerationCursor[] =>
    some
      .filter(({ arrivals }) => arrivals.parts.length > 0)
      .toSorted((a, b) => batchOf(b.generation) - batchOf(a.generation))
      .map((manifest) => new GenerationCursor(store, manifest));
  const cursors = open(manifests);
  const openWith = (reason: Rejection): GenerationCursor[] =>
    open(manifests.filter(({ rejections }) => rejections.byReason[reason] !== undefined));
  const unchanging = openWith('unchanged');
  // A cursor finds a key once: one set for the ETag that is listed, one for that of the same bytes.
  const [asListed, asPacked] = [openWith('retracted'), openWith('retracted')];
  const holding = mayBeFreed(manifests) ? open(manifests.filter(({ pruned }) => pruned !== true)) : undefined;
  if (cursors.length === 0) return () => 'new';
  return async (key, listed, bundledAt) => {
    // The bytes may have been packed again since they were no news, with the ETag that is listed.
    const etag = await packedEtag(unchanging, key, listed);
    const isRetracted =
      (await anyRetracted(asListed, key, listed)) ||
      (etag !== listed && (await anyRetracted(asPacked, key, etag)));
    if (isRetracted) return 'retracted';
    let isSeen = false;
    for (const cursor of cursors) {
      const state = stateOf(await cursor.find(key, [listed, etag], annotations), onChange);
      if (state === 'incomplete') return (await isHeld(holding, key)) ? state : 'freed';
      // A generation that noted the key as no news has seen it too.
      isSeen ||= cursor.hasSeen(bundledAt);
      if (state === 'changed' && !uncovers && isSeen) return 'superseded';
      if (state !== undefined) return state;
    }
    return 'new';
  };
}
