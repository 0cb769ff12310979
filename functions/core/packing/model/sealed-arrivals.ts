/** The arrivals that earlier generations packed or rejected, streamed in the order of the bucket's listing. */
import type { OnChange } from '../../pipeline/dataset.ts';
import { bucketKeys, parseGeneration } from '../../shared/keys.ts';
import { type BlobStore, joinChunks, readText } from './blob-store.ts';
import { decompress, linesOf } from './compressed-lines.ts';
import { DocumentError, readDocument } from './documents.ts';
import { type Manifest, manifestSchema, type SealedLine, sealedLine } from './manifest.ts';
import { compareKeys } from './order.ts';
import { packingKeys } from './packing-keys.ts';
import type { Rejection } from './rejections.ts';
import { batchOf, blobVersions, type DatasetVersion, newestVersion } from './versions.ts';

/** The manifest that a run sealed. It has no shards if all arrivals were rejected or the generation was pruned. */
export async function readSealedManifest(
  store: BlobStore,
  pipeline: string,
  generation: string,
): Promise<Manifest | undefined> {
  const keys = packingKeys(pipeline, generation);
  for (const key of [keys.manifest, keys.rejectionsOnly, keys.pruned]) {
    const text = await readText(store, key);
    if (text !== undefined) return parseManifest({ pipeline, generation }, key, text);
  }
  return undefined;
}

/** A sealed manifest cannot be read. No later generation can be planned, because its arrivals are unknown. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError';
  readonly generation: string;
  constructor(generation: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.generation = generation;
  }
}

function parseManifest(
  { pipeline, generation }: Pick<Manifest, 'pipeline' | 'generation'>,
  key: string,
  text: string,
): Manifest {
  try {
    return readDocument(manifestSchema, key, text);
  } catch (cause: unknown) {
    if (!(cause instanceof DocumentError)) throw cause;
    throw new ManifestError(
      generation,
      `${cause.message}, or run ${packingKeys(pipeline, generation).repair}`,
      {
        cause,
      },
    );
  }
}

/**
 * Every generation of the pipeline, oldest first, including those that were replaced, were pruned, or only rejected. An
 * error stands for a generation that cannot be read.
 */
export async function listGenerations(
  store: BlobStore,
  pipeline: string,
): Promise<(Manifest | ManifestError)[]> {
  const { names, read } = await generationsIn(store, pipeline);
  return readEach(names, (name) =>
    read(name).catch((error: unknown) => {
      if (error instanceof ManifestError) return error;
      throw error;
    }),
  );
}

export interface SealedGenerations {
  /**
   * Of all generations except replaced ones, whose arrivals the joined generation holds. Together they hold every
   * arrival.
   */
  readonly manifests: readonly Manifest[];
  readonly replaced: readonly string[];
}

export async function sealedGenerations(store: BlobStore, pipeline: string): Promise<SealedGenerations> {
  const { names, replaced, read } = await generationsIn(store, pipeline);
  const unreplaced = names.filter((name) => !replaced.includes(name));
  return { manifests: await readEach(unreplaced, read), replaced };
}

interface Generations {
  /** Oldest first. */
  readonly names: readonly string[];
  readonly replaced: readonly string[];
  /** Undefined for a folder without a manifest. @throws ManifestError if a version of the dataset names it */
  readonly read: (name: string) => Promise<Manifest | undefined>;
}

async function generationsIn(store: BlobStore, pipeline: string): Promise<Generations> {
  const versions = blobVersions(store);
  const newest = await newestVersion(versions, pipeline);
  const { generations = [], replaced = [] } = newest ?? {};
  const folders = (await versions.folders(bucketKeys.dataset(pipeline))).filter(isGeneration(newest));
  const read = async (name: string): Promise<Manifest | undefined> => {
    const sealed = await readSealedManifest(store, pipeline, name);
    if (sealed === undefined && generations.includes(name))
      throw new ManifestError(
        name,
        `${bucketKeys.manifest(pipeline, name)} is gone: restore it from an older version of the object or from a copy, or run ${packingKeys(pipeline, name).repair}`,
      );
    return sealed;
  };
  return { names: [...new Set([...folders, ...generations])].sort(), replaced, read };
}

/**
 * A joined generation counts only if a version names it. Until then the generations that it joins hold its arrivals.
 */
const isGeneration =
  (newest: DatasetVersion | undefined) =>
  (name: string): boolean => {
    const generation = parseGeneration(name);
    return generation !== undefined && (!generation.isCompacted || newest?.added[name] !== undefined);
  };

const AT_ONCE = 16;

/** What exists of these, in their order. */
async function readEach<T>(
  names: readonly string[],
  read: (name: string) => Promise<T | undefined>,
): Promise<T[]> {
  const all: T[] = [];
  for (let first = 0; first < names.length; first += AT_ONCE) {
    const some = await Promise.all(names.slice(first, first + AT_ONCE).map(read));
    all.push(...some.filter((one) => one !== undefined));
  }
  return all;
}

/** Manifests of the sealed ones among these. */
export const manifestsOf = (
  store: BlobStore,
  pipeline: string,
  generations: readonly string[],
): Promise<Manifest[]> => readEach(generations, (name) => readSealedManifest(store, pipeline, name));

type Part = Manifest['arrivals']['parts'][number];

/**
 * `unlabelled`: rejected for its label under other annotations. `incomplete`: a correction that lacked the rest of its
 * sample. `late`: the rest of its sample did not arrive in time. `other`: only other ETags of the key.
 */
type Found = 'same' | 'unlabelled' | 'incomplete' | 'late' | 'retracted' | 'other' | 'none';

/** Walks one generation's sorted arrivals. It opens a part only when the walk reaches it. */
class GenerationCursor {
  readonly #store: BlobStore;
  readonly #folder: string;
  readonly #parts: readonly Part[];
  readonly #repair: string;
  #part = 0;
  #lines: Iterator<string> | undefined;
  #key = '';
  #etag = '';
  #outcome: SealedLine[3] = 0;
  #annotationsVersion: string | undefined;
  readonly #annotations: string | undefined;

  constructor(store: BlobStore, manifest: Manifest) {
    this.#store = store;
    this.#annotations = manifest.annotations?.version;
    this.#folder = bucketKeys.generation(manifest.pipeline, manifest.generation);
    this.#parts = manifest.arrivals.parts;
    this.#repair = packingKeys(manifest.pipeline, manifest.generation).repair;
  }

  /**
   * Whether the generation packed or rejected this key: of this ETag, or only of others. The caller must ask for keys
   * in order, each once. A joined generation may hold several ETags of one key.
   */
  async find(key: string, etag: string, annotations: string | undefined): Promise<Found> {
    let found: Found = 'none';
    await this.#walk(key, () => {
      if (this.#outcome === 'unchanged') return false;
      found = this.#etag === etag ? this.#sameAs(annotations) : 'other';
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
      if (this.#outcome === 'unchanged' && this.#etag === etag) packed = this.#annotationsVersion;
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
    if (this.#outcome === 'retracted') return 'retracted';
    const wantsLabel = this.#outcome === 'labelMissing' || this.#outcome === 'labelDoubled';
    const isDone = !wantsLabel || (this.#annotationsVersion ?? this.#annotations) === annotations;
    return isDone ? 'same' : 'unlabelled';
  }

  #skip(): Part | undefined {
    this.#part += 1;
    this.#lines = undefined;
    this.#key = '';
    return this.#parts[this.#part];
  }

  async #open(part: Part): Promise<void> {
    const found = await this.#store.get(`${this.#folder}${part.list}`);
    if (found.kind !== 'found')
      throw new Error(
        `the sealed list ${this.#folder}${part.list} is gone: restore it before the next run, or run ${this.#repair}`,
      );
    this.#lines = linesOf(decompress(joinChunks(found.chunks)));
    this.#step();
  }

  #step(): void {
    const next = this.#lines?.next();
    if (next === undefined || next.done === true) {
      this.#lines = undefined;
      return;
    }
    [this.#key, this.#etag, , this.#outcome, this.#annotationsVersion] = sealedLine.parse(
      JSON.parse(next.value),
    );
  }
}

/**
 * `changed`: what is sealed of the key has another ETag. `incomplete`: rejected because the rest of the sample that it
 * corrects was gone. `freed`: rejected for the same reason, but no generation holds an object of this key any more.
 * `late`: rejected because the rest of the sample had not arrived. `retracted`: never to be packed again, whatever else
 * comes of its sample.
 */
export type ArrivalState = 'new' | 'changed' | 'incomplete' | 'freed' | 'late' | 'retracted' | 'sealed';

/** Must be called in the listing's order. */
export type SealedFilter = (key: string, etag: string) => ArrivalState | Promise<ArrivalState>;

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
}

/** Whether a correction may wait for nothing any more, because the sample that it corrects has left the dataset. */
export const mayBeFreed = (manifests: readonly Manifest[]): boolean =>
  hasAny(manifests, 'correctionIncomplete') &&
  (hasAny(manifests, 'retracted') || manifests.some(({ pruned }) => pruned === true));

const hasAny = (manifests: readonly Manifest[], reason: Rejection): boolean =>
  manifests.some(({ rejections }) => rejections.byReason[reason] !== undefined);

/** @param holding undefined where nothing has left the dataset */
async function isHeld(holding: readonly GenerationCursor[] | undefined, key: string): Promise<boolean> {
  if (holding === undefined) return true;
  for (const cursor of holding) if (await cursor.holds(key)) return true;
  return false;
}

/** A filter for a sorted listing: what earlier generations say of each arrival. */
export function sealedFilter(
  store: BlobStore,
  manifests: readonly Manifest[],
  { annotations, onChange }: FilterRules,
): SealedFilter {
  const open = (some: readonly Manifest[]): GenerationCursor[] =>
    some
      .filter(({ arrivals }) => arrivals.parts.length > 0)
      .toSorted((a, b) => batchOf(b.generation) - batchOf(a.generation))
      .map((manifest) => new GenerationCursor(store, manifest));
  const cursors = open(manifests);
  const openWith = (reason: Rejection): GenerationCursor[] =>
    open(manifests.filter(({ rejections }) => rejections.byReason[reason] !== undefined));
  const [retracting, unchanging] = [openWith('retracted'), openWith('unchanged')];
  const holding = mayBeFreed(manifests) ? open(manifests.filter(({ pruned }) => pruned !== true)) : undefined;
  if (cursors.length === 0) return () => 'new';
  return async (key, listed) => {
    let etag = listed;
    for (const cursor of unchanging) {
      const packed = await cursor.packedEtag(key, listed);
      if (packed === undefined) continue;
      etag = packed;
      break;
    }
    for (const cursor of retracting)
      if ((await cursor.find(key, etag, annotations)) === 'retracted') return 'retracted';
    for (const cursor of cursors) {
      const found = await cursor.find(key, etag, annotations);
      if (found === 'same') return 'sealed';
      if (found === 'incomplete') return (await isHeld(holding, key)) ? found : 'freed';
      if (found === 'late') return found;
      if (found === 'other' && onChange === 'replace') return 'changed';
    }
    return 'new';
  };
}
