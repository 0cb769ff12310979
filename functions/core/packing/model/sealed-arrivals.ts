/** What earlier generations have dealt with, streamed in the listing's order beside the listing itself. */
import { bucketKeys, parseGeneration } from '../../shared/keys.ts';
import { type BlobStore, joinChunks, readText } from './blob-store.ts';
import { type Manifest, manifestSchema, type SealedLine, sealedLine } from './documents.ts';
import { compareKeys } from './order.ts';
import { places } from './packing-keys.ts';
import { decompress, linesOf } from './spool.ts';
import { type DatasetVersion, newestVersion, versionsIn } from './versions.ts';

/** What a run has sealed: its generation, or a manifest without shards when all arrivals were rejected. */
export async function readSealed(
  store: BlobStore,
  pipeline: string,
  generation: string,
): Promise<Manifest | undefined> {
  const at = places(pipeline, generation);
  for (const key of [at.manifest, at.rejectionsOnly, at.pruned]) {
    const text = await readText(store, key);
    if (text !== undefined) return parseManifest(key, generation, text);
  }
  return undefined;
}

/** What is sealed cannot be read: no later generation can be planned either, for nobody knows what it holds. */
export class ManifestDamagedError extends Error {
  override readonly name = 'ManifestDamagedError';
  readonly generation: string;
  constructor(key: string, generation: string, options?: ErrorOptions) {
    super(
      `${key} ${options?.cause === undefined ? 'is gone' : 'is no manifest any more'}: restore it, from an older version of the object or a copy`,
      options,
    );
    this.generation = generation;
  }
}

function parseManifest(key: string, generation: string, text: string): Manifest {
  try {
    return manifestSchema.parse(JSON.parse(text));
  } catch (cause: unknown) {
    throw new ManifestDamagedError(key, generation, { cause });
  }
}

/**
 * Every generation of the pipeline, oldest first: replaced and pruned ones and those that only rejected are among them. One
 * that cannot be read does not hide the others.
 */
export async function listGenerations(
  store: BlobStore,
  pipeline: string,
): Promise<(Manifest | ManifestDamagedError)[]> {
  const { names, read } = await generationsIn(store, pipeline);
  return readEach(names, (name) =>
    read(name).catch((error: unknown) => {
      if (error instanceof ManifestDamagedError) return error;
      throw error;
    }),
  );
}

/** What together accounts for every arrival: generations, those replaced aside, whose arrivals their successors hold. */
export async function accountingGenerations(store: BlobStore, pipeline: string): Promise<Manifest[]> {
  const { names, replaced, read } = await generationsIn(store, pipeline);
  return readEach(
    names.filter((name) => !replaced.includes(name)),
    read,
  );
}

interface Generations {
  /** Oldest first. */
  readonly names: readonly string[];
  readonly replaced: readonly string[];
  /** Undefined for a folder without a manifest; what a version of the dataset names has one. */
  readonly read: (name: string) => Promise<Manifest | undefined>;
}

async function generationsIn(store: BlobStore, pipeline: string): Promise<Generations> {
  const versions = versionsIn(store);
  const newest = await newestVersion(versions, pipeline);
  const { generations = [], replaced = [] } = newest ?? {};
  const folders = (await versions.folders(bucketKeys.dataset(pipeline))).filter(isMade(newest));
  const read = async (name: string): Promise<Manifest | undefined> => {
    const sealed = await readSealed(store, pipeline, name);
    if (sealed === undefined && generations.includes(name))
      throw new ManifestDamagedError(bucketKeys.manifest(pipeline, name), name);
    return sealed;
  };
  return { names: [...new Set([...folders, ...generations])].sort(), replaced, read };
}

/** A compacted generation is one only when a version names it: until then what it holds is elsewhere. */
const isMade =
  (newest: DatasetVersion | undefined) =>
  (name: string): boolean => {
    const generation = parseGeneration(name);
    return generation !== undefined && (!generation.isCompacted || newest?.added[name] !== undefined);
  };

const AT_ONCE = 16;

/** What is there of these, in their order. */
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

/** Manifests of these, as far as they are sealed. */
export const manifestsOf = (
  store: BlobStore,
  pipeline: string,
  generations: readonly string[],
): Promise<Manifest[]> => readEach(generations, (name) => readSealed(store, pipeline, name));

type Part = Manifest['arrivals']['parts'][number];

/** Walks one generation's sorted arrivals, opening a part only when the walk reaches it. */
class GenerationCursor {
  readonly #store: BlobStore;
  readonly #folder: string;
  readonly #parts: readonly Part[];
  #part = 0;
  #lines: Iterator<string> | undefined;
  #key = '';
  #etag = '';
  #fate: SealedLine[3] = 0;
  #under: string | undefined;
  readonly #annotations: string | undefined;

  constructor(store: BlobStore, manifest: Manifest) {
    this.#store = store;
    this.#annotations = manifest.annotations?.version;
    this.#folder = bucketKeys.generation(manifest.pipeline, manifest.generation);
    this.#parts = manifest.arrivals.parts;
  }

  /**
   * Whether the generation is done with this key of this ETag. Keys must be asked for in order, each once: a compacted
   * generation may hold several ETags of one.
   */
  async holds(key: string, etag: string, annotations: string | undefined): Promise<boolean> {
    let part = this.#parts[this.#part];
    while (part !== undefined && compareKeys(part.last, key) < 0) part = this.#skip();
    while (part !== undefined && compareKeys(part.first, key) <= 0) {
      if (this.#lines === undefined) await this.#open(part);
      while (this.#lines !== undefined && compareKeys(this.#key, key) < 0) this.#step();
      for (; this.#lines !== undefined && this.#key === key; this.#step())
        if (this.#etag === etag) return this.#isDone(annotations);
      if (this.#lines !== undefined) return false;
      part = this.#skip();
    }
    return false;
  }

  /** Refused for its label alone: other annotations may have one. */
  #isDone(annotations: string | undefined): boolean {
    const wantsLabel = this.#fate === 'labelMissing' || this.#fate === 'labelDoubled';
    return !wantsLabel || (this.#under ?? this.#annotations) === annotations;
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
      throw new Error(`the sealed list ${this.#folder}${part.list} is gone; restore it before the next run`);
    this.#lines = linesOf(decompress(joinChunks(found.chunks)));
    this.#step();
  }

  #step(): void {
    const next = this.#lines?.next();
    if (next === undefined || next.done === true) {
      this.#lines = undefined;
      return;
    }
    [this.#key, this.#etag, , this.#fate, this.#under] = sealedLine.parse(JSON.parse(next.value));
  }
}

/** Asked in the listing's order. */
export type SealedFilter = (key: string, etag: string) => boolean | Promise<boolean>;

/**
 * A filter for a sorted listing: true for what some generation is done with.
 * @param annotations version of the file of annotations; what was refused for its label under another is taken up again
 */
export function sealedFilter(
  store: BlobStore,
  manifests: readonly Manifest[],
  annotations?: string,
): SealedFilter {
  const cursors = manifests
    .filter(({ arrivals }) => arrivals.parts.length > 0)
    .map((manifest) => new GenerationCursor(store, manifest));
  /** The first generation of all asks nobody. */
  if (cursors.length === 0) return () => false;
  return async (key, etag) => {
    for (const cursor of cursors) if (await cursor.holds(key, etag, annotations)) return true;
    return false;
  };
}
