/** Compares the files beside the shards with what follows from the sealed lists, and finds strays among the shards. */

import { shardsFolder } from '@tidewheel/contract/bucket-keys.ts';
import { quoted } from '@tidewheel/kit/quoted.ts';
import { type BlobStore, joinChunks, listPages } from '../documents/blob-store.ts';
import type { MemberLine } from '../documents/documents.ts';
import type { Manifest } from '../documents/manifest.ts';
import { formatOf } from '../formats/formats.ts';
import { datasetIndexes, type IndexFile, shardIndex } from '../seal/index-files.ts';

/** A sealed generation that is being verified. */
export interface VerifiedGeneration {
  readonly store: BlobStore;
  readonly manifest: Manifest;
  /** The generation's folder. */
  readonly folder: string;
  readonly problems: string[];
}

type SameAs = (stored: Buffer, expected: Buffer) => boolean;
const sameBytes: SameAs = (stored, expected) => stored.equals(expected);

async function verifyFile(
  { store, folder, problems }: VerifiedGeneration,
  file: IndexFile | undefined,
  isSame: SameAs = sameBytes,
): Promise<void> {
  if (file === undefined) return;
  const found = await store.get(`${folder}${file.name}`);
  if (found.kind !== 'found') problems.push(`${file.name} is missing: some readers need it to find samples`);
  else if (!isSame(Buffer.from(joinChunks(found.chunks)), Buffer.from(file.body)))
    problems.push(`${file.name} does not match the shards`);
}

/** The index of one shard, for the formats that have one. */
export const verifyShardIndex = (
  verified: VerifiedGeneration,
  shard: Manifest['shards'][number],
  lines: Iterable<MemberLine>,
): Promise<void> => verifyFile(verified, shardIndex(verified.manifest, shard, lines));

/** The indexes over all shards, for the formats that have one. Earlier releases wrote none among unsplit shards. */
export async function verifyDatasetIndex(verified: VerifiedGeneration): Promise<void> {
  const { generation, format, schema, shards, revision, indexes, splits } = verified.manifest;
  if (shards.length === 0) return;
  const settings = { format, labelType: schema.labelType, shardMegabytes: 0 };
  const sourceSchema = { columns: schema.columns ?? [] };
  const isSame = formatOf(verified.manifest).datasetIndex?.isSame;
  const isOlder = indexes === undefined && splits === undefined;
  for (const file of datasetIndexes({ generation, settings, sourceSchema, shards, revision }))
    if (!isOlder || !file.name.startsWith(shardsFolder(revision))) await verifyFile(verified, file, isSame);
}

/** The folder of the shards is a channel of training. A training reads every object in it as a shard. */
export async function verifyNoStrays({
  store,
  manifest,
  folder,
  problems,
}: VerifiedGeneration): Promise<void> {
  const shards = `${folder}${shardsFolder(manifest.revision)}`;
  const { format, indexes = [], splits = [] } = manifest;
  const index = formatOf({ format }).datasetIndex?.name;
  const names = new Set([
    ...manifest.shards.map(({ name }) => name),
    ...indexes,
    ...(index === undefined ? [] : splits.map((split) => `${split.name}/${index}`)),
  ]);
  for await (const page of listPages(store, shards))
    for (const { key } of page.objects) {
      const name = key.slice(shards.length);
      if (!names.has(name)) problems.push(`${quoted(name)} lies among the shards but is none: delete it`);
    }
}
