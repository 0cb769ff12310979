/** Finds single samples of a version by its member lists, and reads their members by ranges of the shards. */
import { hash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { type BlobStore, joinChunks } from '../documents/blob-store.ts';
import { DocumentError, type MemberLine } from '../documents/documents.ts';
import type { Manifest } from '../documents/manifest.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { manifestsOf } from '../documents/sealed-arrivals.ts';
import { memberLines } from '../documents/sealed-lines.ts';

type Shard = Manifest['shards'][number];

/** Where a sample lies. */
export interface StoredSample {
  readonly manifest: Manifest;
  readonly shard: Shard;
  readonly lines: readonly MemberLine[];
}

/** Every sample without its copies, in the order of the shards. Reads one member list at a time. */
export async function* storedSamples(
  store: BlobStore,
  pipeline: string,
  generations: readonly string[],
): AsyncGenerator<StoredSample> {
  for (const manifest of await manifestsOf(store, pipeline, generations))
    for (const shard of manifest.shards) yield* await samplesOfShard(store, manifest, shard);
}

async function samplesOfShard(store: BlobStore, manifest: Manifest, shard: Shard): Promise<StoredSample[]> {
  const keys = packingKeys(manifest.pipeline, manifest.generation);
  const all = new Map<number, MemberLine[]>();
  for (const line of await memberLines(store, keys, shard)) {
    if (line.repeat !== undefined) continue;
    const lines = all.get(line.sample);
    if (lines === undefined) all.set(line.sample, [line]);
    else lines.push(line);
  }
  return [...all.values()].map((lines) => ({ manifest, shard, lines }));
}

/** At most so many samples, evenly over the version. Reads only the lists of shards that hold one of them. */
export async function spreadSamples(
  store: BlobStore,
  { pipeline, generations }: { readonly pipeline: string; readonly generations: readonly string[] },
  most: number,
): Promise<StoredSample[]> {
  const manifests = await manifestsOf(store, pipeline, generations);
  const all = manifests.flatMap((manifest) => manifest.shards.map((shard) => ({ manifest, shard })));
  const total = all.reduce((sum, { shard }) => sum + shard.samples, 0);
  const wanted = Math.min(most, total);
  const chosen: StoredSample[] = [];
  let before = 0;
  for (const { manifest, shard } of all) {
    const [from, to] = [before, before + shard.samples].map((place) => Math.ceil((place * wanted) / total));
    before += shard.samples;
    const count = (to ?? 0) - (from ?? 0);
    if (count === 0) continue;
    const samples = await samplesOfShard(store, manifest, shard);
    const step = samples.length / count;
    for (let index = 0; index < count; index += 1) {
      const sample = samples[Math.floor(index * step)];
      if (sample !== undefined && chosen.at(-1) !== sample) chosen.push(sample);
    }
  }
  return chosen;
}

/**
 * The bytes of one member as they lie in the shard.
 * @throws DocumentError if the shard is gone or holds other bytes
 */
export async function readSampleMember(
  store: BlobStore,
  { manifest, shard }: StoredSample,
  { offset, size, sha256, name }: MemberLine,
): Promise<Uint8Array> {
  const { shards, repair } = packingKeys(manifest.pipeline, manifest.generation);
  const key = `${shards(manifest.revision)}${shard.name}`;
  const bytes = size === 0 ? new Uint8Array() : await rangeOf(store, manifest, { key, offset, size });
  if (bytes === undefined) throw new DocumentError(`${key} is gone: restore it, or run ${repair}`);
  // Formats that convert a label (int64) digest what arrived, and copied sources have no digest.
  const isOther = sha256 !== '' && bytes.length === size && hash('sha256', bytes) !== sha256;
  if (isOther && !name.endsWith('.cls'))
    throw new DocumentError(`${key} holds other bytes of ${name} than were sealed: run verify`);
  return bytes;
}

interface Range {
  readonly key: string;
  readonly offset: number;
  readonly size: number;
}

/** A compressed shard has no ranges, so it is read as a whole. */
async function rangeOf(
  store: BlobStore,
  { compression }: Manifest,
  { key, offset, size }: Range,
): Promise<Uint8Array | undefined> {
  const found = await store.get(key, compression === undefined ? { range: { offset, length: size } } : {});
  if (found.kind !== 'found') return undefined;
  const bytes = joinChunks(found.chunks);
  return compression === undefined ? bytes : gunzipSync(bytes).subarray(offset, offset + size);
}
