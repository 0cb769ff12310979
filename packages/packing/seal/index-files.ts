/**
 * Files beside the shards that particular readers want. They follow from what is sealed, so every writer writes the
 * same bytes. Only an index over all shards lies among them too, because a training channel holds nothing else.
 */

import { shardsFolder } from '@tidewheel/contract/bucket-keys.ts';
import type { FormatName } from '@tidewheel/declaration/packing-settings.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import type { MemberLine } from '../documents/documents.ts';
import type { Manifest } from '../documents/manifest.ts';
import type { PackingKeys } from '../documents/packing-keys.ts';
import type { IndexedShards } from '../documents/shard-format.ts';
import { formatOf } from '../formats/formats.ts';
import { splitOfShard } from '../splits/split-rule.ts';

export interface IndexFile {
  /** Relative to the generation's folder. */
  readonly name: string;
  readonly body: Uint8Array;
}

type Shard = Manifest['shards'][number];
type OfFormat = { readonly format: FormatName };

/** Takes a shard's member list line by line. */
export interface IndexFileWriter {
  add(line: MemberLine): void;
  /** Called after the last line. */
  file(): IndexFile;
}

/** Makes the index of one shard, for the formats that have one. */
export function shardIndexWriter(of: OfFormat, shard: Shard): IndexFileWriter | undefined {
  const index = formatOf(of).shardIndex?.();
  if (index === undefined) return undefined;
  const name = `index/${shard.name.replace(/\.[^.]+$/, '')}.idx`;
  return { add: (line) => index.add(line), file: () => ({ name, body: index.body() }) };
}

/** The index of one shard whose lines are at hand. */
export function shardIndex(of: OfFormat, shard: Shard, lines: Iterable<MemberLine>): IndexFile | undefined {
  const writer = shardIndexWriter(of, shard);
  if (writer !== undefined) for (const line of lines) writer.add(line);
  return writer?.file();
}

export interface SealedGeneration extends Pick<IndexedShards, 'generation' | 'sourceSchema' | 'shards'> {
  readonly settings: IndexedShards['settings'] & OfFormat;
  /** The plan's. */
  readonly revision?: string | undefined;
}

/**
 * The indexes over all shards, for the formats that have one. A reader looks for the index in the folder of the shards,
 * which is the channel of a training. It takes all shards of an index, so each split has its own. Without splits there
 * is another one in the generation's folder.
 */
export function datasetIndexes({ revision, shards, ...sealed }: SealedGeneration): IndexFile[] {
  const index = formatOf(sealed.settings).datasetIndex;
  if (index === undefined) return [];
  const folder = shardsFolder(revision);
  const splits = new Set(shards.flatMap(({ name }) => splitOfShard(name) ?? []));
  if (splits.size === 0)
    return ['', folder].map((place) => ({
      name: `${place}${index.name}`,
      body: index.body({ ...sealed, shards, folder: place === '' ? folder : '' }),
    }));
  return [...splits].map((split) => {
    const mine = shards
      .filter(({ name }) => splitOfShard(name) === split)
      .map((shard) => ({ ...shard, name: shard.name.slice(split.length + 1) }));
    return {
      name: `${folder}${split}/${index.name}`,
      body: index.body({ ...sealed, shards: mine, folder: '' }),
    };
  });
}

/** @returns those that lie among the shards, for the manifest */
export async function writeDatasetIndexes(
  store: BlobStore,
  keys: PackingKeys,
  sealed: SealedGeneration,
): Promise<Pick<Manifest, 'indexes'>> {
  const files = sealed.shards.length === 0 ? [] : datasetIndexes(sealed);
  for (const file of files) await writeIndexFile(store, keys, file);
  const folder = shardsFolder(sealed.revision);
  const indexes = files.flatMap(({ name }) => (name.startsWith(folder) ? [name.slice(folder.length)] : []));
  return indexes.length === 0 ? {} : { indexes };
}

export async function writeIndexFile(
  store: BlobStore,
  keys: PackingKeys,
  file: IndexFile | undefined,
): Promise<void> {
  if (file !== undefined) await store.put(`${keys.generation}${file.name}`, file.body);
}
