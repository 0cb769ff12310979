/**
 * What a person retracted stays out of the dataset when the generation that says so is given up: the objects may lie
 * under `incoming/` still, and the next run would pack them.
 */

import { parseGeneration } from '@tidewheel/contract/bucket-keys.ts';
import { FORMAT_NAMES } from '@tidewheel/declaration/packing-settings.ts';
import { plannedListings } from '../compaction/seal-compaction.ts';
import { type BlobStore, joinChunks, listPages } from '../documents/blob-store.ts';
import { linesOf, readableText } from '../documents/compressed-lines.ts';
import { DOCUMENT_VERSION } from '../documents/documents.ts';
import { type Manifest, manifestSchema, type SealedLine, sealedLine } from '../documents/manifest.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { byArrival, UNKNOWN_TIME } from '../documents/sealed-lines.ts';
import { ArrivalsWriter } from '../seal/audit.ts';

interface Damaged {
  readonly pipeline: string;
  readonly generation: string;
  /** Undefined if it is gone or cannot be read. */
  readonly manifest: Manifest | undefined;
}

export interface Retractions {
  /** In order. */
  readonly found: readonly SealedLine[];
  /** Lists that may have held others, and are gone or damaged. */
  readonly unread: readonly string[];
}

const LIST = /\/arrivals\/(?:part|retracted)-\d+\.jsonl\.gz$/;

/** Only joined generations hold any. The lists are found without the manifest, which may be what is lost. */
export async function readKeptRetractions(store: BlobStore, damaged: Damaged): Promise<Retractions> {
  const { pipeline, generation } = damaged;
  if (parseGeneration(generation)?.isCompacted !== true) return { found: [], unread: [] };
  const { generation: folder } = packingKeys(pipeline, generation);
  const keys = await listsIn(store, `${folder}arrivals/`);
  const unread = await missingLists(store, folder, { ...damaged, keys });
  const retracted = new Map<string, SealedLine>();
  for (const key of keys) {
    const lines = await linesIn(store, key);
    if (lines === undefined) unread.push(key);
    for (const line of lines ?? [])
      if (line[3] === 'retracted') retracted.set(JSON.stringify(line.slice(0, 2)), line);
  }
  return { found: [...retracted.values()].sort(byArrival), unread };
}

async function missingLists(
  store: BlobStore,
  folder: string,
  { manifest, keys }: Pick<Damaged, 'manifest'> & { readonly keys: readonly string[] },
): Promise<string[]> {
  if (manifest !== undefined)
    return manifest.arrivals.parts.map(({ list }) => `${folder}${list}`).filter((key) => !keys.includes(key));
  // An empty folder was given up before.
  return keys.length === 0 && (await holdsAny(store, folder)) ? [`${folder}arrivals/`] : [];
}

async function listsIn(store: BlobStore, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of listPages(store, prefix))
    keys.push(...page.objects.map(({ key }) => key).filter((key) => LIST.test(key)));
  return keys;
}

async function holdsAny(store: BlobStore, prefix: string): Promise<boolean> {
  for await (const page of listPages(store, prefix)) if (page.objects.length > 0) return true;
  return false;
}

/** Undefined if the list is damaged: half of it would let the other half come back without a word. */
async function linesIn(store: BlobStore, key: string): Promise<SealedLine[] | undefined> {
  const found = await store.get(key);
  const text = found.kind === 'found' ? readableText(joinChunks(found.chunks)) : '';
  try {
    const lines = [...linesOf(text)].map((line) => sealedLine.parse(JSON.parse(line)));
    return lines.length === 0 ? undefined : lines;
  } catch {
    return undefined;
  }
}

/**
 * Writes a record as of a pruned generation that names nothing but retracted arrivals.
 * @returns the keys that must stay
 */
export async function keepRetractions(
  store: BlobStore,
  { pipeline, generation, manifest, found }: Damaged & Pick<Retractions, 'found'>,
): Promise<ReadonlySet<string>> {
  if (found.length === 0) return new Set();
  const keys = packingKeys(pipeline, generation);
  const writer = new ArrivalsWriter(store, { ...keys, arrivals: keys.retractions });
  const listings = await listingsBehind(store, { pipeline, generation, manifest });
  for (const [key, etag, size, , sum, listing = 0] of found)
    await writer.rejected([key, etag, size, 'retracted', sum, listing < listings.length ? listing : 0]);
  const { arrivals, rejections } = await writer.finish(found.length);
  const record = manifestSchema.parse({
    version: DOCUMENT_VERSION,
    pipeline,
    generation,
    // Nothing reads the format of a generation without shards.
    format: manifest?.format ?? FORMAT_NAMES[0],
    schema: {},
    compacted: { of: [], numbers: 0, listings },
    seed: 0,
    plan: '',
    listedAt: manifest?.listedAt ?? listings.at(-1) ?? UNKNOWN_TIME,
    samples: 0,
    members: 0,
    repeated: 0,
    bytes: 0,
    shards: [],
    arrivals,
    rejections,
    pruned: true,
  });
  await store.put(keys.pruned, Buffer.from(`${JSON.stringify(record, undefined, 1)}\n`), {
    contentType: 'application/json',
  });
  return new Set([keys.pruned, ...arrivals.parts.map(({ list }) => `${keys.generation}${list}`)]);
}

/**
 * The listings that the lines refer to. They decide whether what a bundle holds of a key came after its retraction. Where
 * nothing has them, it counts as later.
 */
async function listingsBehind(
  store: BlobStore,
  { pipeline, generation, manifest }: Damaged,
): Promise<readonly string[]> {
  const known = manifest?.compacted?.listings ?? (await plannedListings(store, pipeline, generation));
  return known ?? [UNKNOWN_TIME];
}
