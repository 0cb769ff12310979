/** Small generations of one pipeline, and the content of a dataset independent of its shards. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { type Compacted, compact } from '@tidewheel/packing/compact.ts';
import {
  blobVersions,
  listGenerations,
  type Manifest,
  ManifestError,
  type MemberLine,
  manifestsOf,
  newestVersion,
  type SealedLine,
  sealedGenerations,
  sealedLine,
} from '@tidewheel/packing/dataset.ts';
import { retractedObjects, verifyGeneration } from '@tidewheel/packing/maintain.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import { decompress, linesOf } from '../../../packages/packing/documents/compressed-lines.ts';
import { MemoryBlobStore } from '../fakes/memory-blob-store.ts';
import { type Arrivals, dropped, incoming, PIPELINE, packAll, SMALL } from './packing.ts';

export { type Arrivals, incoming };
export const runOf = (batch: number): string => `${PIPELINE}-${String(batch).padStart(6, '0')}`;

/** Packs each drop into one generation. Keys are relative to incoming/. */
export async function packedInDrops(
  drops: readonly Arrivals[],
  packing: PackingSettings,
  store = new MemoryBlobStore(),
  first = 1,
): Promise<MemoryBlobStore> {
  for (const [index, drop] of drops.entries()) {
    dropped(drop, store);
    await packAll(store, packing, runOf(first + index));
  }
  return store;
}

export const compactAll = (store: BlobStore, packing: PackingSettings, after = 2): Promise<Compacted> =>
  compact(store, { pipeline: PIPELINE, packing, after, everything: true }, { ...SMALL, readBytes: 1_000 });

export async function current(store: BlobStore): Promise<Manifest[]> {
  const newest = await newestVersion(blobVersions(store), PIPELINE);
  return manifestsOf(store, PIPELINE, newest?.generations ?? []);
}

const listAt = (store: MemoryBlobStore, key: string): string[] => [...linesOf(decompress(store.body(key)))];

export const linesIn = (store: MemoryBlobStore, { pipeline, generation, shards }: Manifest): MemberLine[] =>
  shards.flatMap(({ memberList }) =>
    listAt(store, `${bucketKeys.generation(pipeline, generation)}${memberList}`).map(
      (line): MemberLine => JSON.parse(line),
    ),
  );

/** `key etag` and the digest of each source in the dataset's newest version, sorted; copies are left out. */
export async function contents(store: MemoryBlobStore): Promise<string[]> {
  const manifests = await current(store);
  const lines = manifests.flatMap((manifest) => linesIn(store, manifest));
  return lines
    .filter(({ key, repeat }) => key !== undefined && repeat === undefined)
    .map(({ key, etag, sha256 }) => `${key} ${etag} ${sha256}`)
    .sort();
}

/** All sealed arrivals, sorted: key, ETag, and whether they were packed or why not. */
export async function accounts(store: MemoryBlobStore): Promise<string[]> {
  const { manifests } = await sealedGenerations(store, PIPELINE);
  const lines = manifests.flatMap(({ pipeline, generation, arrivals }) =>
    arrivals.parts.flatMap(({ list }) =>
      listAt(store, `${bucketKeys.generation(pipeline, generation)}${list}`).map(
        (line): SealedLine => sealedLine.parse(JSON.parse(line)),
      ),
    ),
  );
  return lines
    .map(([key, etag, , fate]) => `${key} ${etag} ${typeof fate === 'number' ? 'packed' : fate}`)
    .sort();
}

const wholeOnes = (one: Manifest | ManifestError): Manifest[] => (one instanceof ManifestError ? [] : [one]);

/** The problems of all generations in the newest version. No generation says that one of them holds what was retracted. */
export async function problems(store: MemoryBlobStore): Promise<string[]> {
  const found: string[] = [];
  const all = await listGenerations(store, PIPELINE);
  const retracted = await retractedObjects(store, PIPELINE, all.flatMap(wholeOnes));
  for (const manifest of await current(store)) {
    const report = await verifyGeneration(store, manifest, retracted);
    found.push(...report.problems, ...(report.retractions?.problems ?? []));
  }
  return found;
}
