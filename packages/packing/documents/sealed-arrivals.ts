/** The manifests of all generations, which name the arrivals that they packed or rejected. */

import { bucketKeys, parseGeneration } from '@tidewheel/contract/bucket-keys.ts';
import { mapLimited } from '@tidewheel/kit/limited.ts';
import { kindOf } from '@tidewheel/kit/stored.ts';
import { type BlobReader, type BlobStore, readText } from './blob-store.ts';
import { DocumentError, readDocument } from './documents.ts';
import { type Manifest, manifestSchema } from './manifest.ts';
import { packingKeys } from './packing-keys.ts';
import { blobVersions, type DatasetVersion, newestVersion } from './versions.ts';

/** The manifest that a run sealed. It has no shards if all arrivals were rejected or the generation was pruned. */
export async function readSealedManifest(
  store: BlobReader,
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
    return readDocument(kindOf(manifestSchema), key, text);
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
  /** Whether a joined generation was given up: then nothing may hold the arrivals of those that it replaced. */
  readonly isJoinedGivenUp: boolean;
}

export async function sealedGenerations(store: BlobStore, pipeline: string): Promise<SealedGenerations> {
  const { names, replaced, pruned, read } = await generationsIn(store, pipeline);
  const unreplaced = names.filter((name) => !replaced.includes(name));
  const manifests = await readEach(unreplaced, read);
  // A prune keeps the lists of what was packed.
  const holding = new Set(
    manifests.filter(({ arrivals }) => arrivals.packed > 0).map(({ generation }) => generation),
  );
  const isJoinedGivenUp = pruned.some(
    (name) => parseGeneration(name)?.isCompacted === true && !replaced.includes(name) && !holding.has(name),
  );
  return { manifests, replaced, isJoinedGivenUp };
}

interface Generations {
  /** Oldest first. */
  readonly names: readonly string[];
  readonly replaced: readonly string[];
  readonly pruned: readonly string[];
  /** Undefined for a folder without a manifest. @throws ManifestError if a version of the dataset names it */
  readonly read: (name: string) => Promise<Manifest | undefined>;
}

async function generationsIn(store: BlobStore, pipeline: string): Promise<Generations> {
  const versions = blobVersions(store);
  const newest = await newestVersion(versions, pipeline);
  const { generations = [], replaced = [], pruned = [] } = newest ?? {};
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
  return { names: [...new Set([...folders, ...generations])].sort(), replaced, pruned, read };
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
  const all = await mapLimited(names, AT_ONCE, read);
  return all.filter((one) => one !== undefined);
}

/** Manifests of the sealed ones among these. */
export const manifestsOf = (
  store: BlobReader,
  pipeline: string,
  generations: readonly string[],
): Promise<Manifest[]> => readEach(generations, (name) => readSealedManifest(store, pipeline, name));
