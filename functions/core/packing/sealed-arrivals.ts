/** What earlier generations have dealt with, streamed in the listing's order beside the listing itself. */
import { layout } from '../layout.ts';
import { compareKeys } from './order.ts';
import { places } from './places.ts';
import { type BlobStore, joinChunks, listPages, readText } from './port.ts';
import { type Manifest, manifestSchema, type SealedLine, sealedLine } from './records.ts';
import { decompress, linesOf } from './spool.ts';

/** What a run has sealed: its generation, or a manifest without shards when all arrivals were rejected. */
export async function readSealed(
  store: BlobStore,
  pipeline: string,
  generation: string,
): Promise<Manifest | undefined> {
  const at = places(pipeline, generation);
  const text =
    (await readText(store, at.manifest)) ??
    (await readText(store, at.rejectionsOnly)) ??
    (await readText(store, at.pruned));
  return text === undefined ? undefined : manifestSchema.parse(JSON.parse(text));
}

/** Every sealed generation of the pipeline, oldest first, those that only rejected included. Other folders are none. */
export async function listGenerations(store: BlobStore, pipeline: string): Promise<Manifest[]> {
  const manifests: Manifest[] = [];
  for await (const page of listPages(store, layout.dataset(pipeline), { delimiter: '/' })) {
    for (const folder of page.prefixes) {
      const generation = folder.slice(layout.dataset(pipeline).length, -1);
      const manifest = await readSealed(store, pipeline, generation);
      if (manifest !== undefined) manifests.push(manifest);
    }
  }
  return manifests;
}

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
  readonly #annotations: string | undefined;

  constructor(store: BlobStore, manifest: Manifest) {
    this.#store = store;
    this.#annotations = manifest.annotations?.version;
    this.#folder = layout.generation(manifest.pipeline, manifest.generation);
    this.#parts = manifest.arrivals.parts;
  }

  /** Whether the generation is done with this key of this ETag. Keys must be asked for in order. */
  async holds(key: string, etag: string, annotations: string | undefined): Promise<boolean> {
    let part = this.#parts[this.#part];
    while (part !== undefined && compareKeys(part.last, key) < 0) part = this.#skip();
    if (part === undefined || compareKeys(key, part.first) < 0) return false;
    if (this.#lines === undefined) await this.#open(part);
    while (this.#lines !== undefined && compareKeys(this.#key, key) < 0) this.#step();
    if (this.#key !== key || this.#etag !== etag) return false;
    /** Refused for its label alone: other annotations may have one. */
    const wantsLabel = this.#fate === 'labelMissing' || this.#fate === 'labelDoubled';
    return !wantsLabel || this.#annotations === annotations;
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
    [this.#key, this.#etag, , this.#fate] = sealedLine.parse(JSON.parse(next.value));
  }
}

/** Asked in the listing's order. */
export type SealedFilter = (key: string, etag: string) => Promise<boolean>;

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
  return async (key, etag) => {
    for (const cursor of cursors) if (await cursor.holds(key, etag, annotations)) return true;
    return false;
  };
}
