/** The tally of a generation, from its folder or, if it has none yet, from its member lists. */

import { SHARD_FORMATS, SPLITS, type SplitName } from '@tidewheel/declaration/packing-settings.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import { kindOf, readVersioned, valueOf } from '@tidewheel/kit/stored.ts';
import type { LeftOutSamples } from '../compaction/superseded-samples.ts';
import { type BlobStore, joinChunks } from '../documents/blob-store.ts';
import type { Manifest } from '../documents/manifest.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { memberLines } from '../documents/sealed-lines.ts';
import { decodeNumbers, encodeNumbers } from './digest-list.ts';
import { GenerationTally, type Tally, tallySchema } from './tally.ts';

export interface GenerationFacts {
  readonly tally: Tally;
  /** Half digests of all samples, sorted. */
  readonly digests: BigUint64Array;
  /** dHash and half digest of each prepared image. */
  readonly looks: BigUint64Array;
  /** Half digests of the samples of each split, sorted; empty if they are not split. */
  readonly splits: ReadonlyMap<SplitName, BigUint64Array>;
}

export async function generationFacts(store: BlobStore, manifest: Manifest): Promise<GenerationFacts> {
  const { pipeline, generation } = manifest;
  return (await storedFacts(store, pipeline, generation)) ?? countFacts(store, manifest);
}

/** Undefined if it was not counted, or if what is stored cannot be read. */
export async function storedFacts(
  store: BlobStore,
  pipeline: string,
  generation: string,
): Promise<GenerationFacts | undefined> {
  const { quality } = packingKeys(pipeline, generation);
  const bytesOf = async (key: string): Promise<Uint8Array | undefined> => {
    const found = await store.get(key);
    return found.kind === 'found' ? joinChunks(found.chunks) : undefined;
  };
  const tally = parseTally(await bytesOf(quality('tally.json')));
  if (tally === undefined) return undefined;
  const [digests, looks] = [await bytesOf(quality('digests.bin')), await bytesOf(quality('looks.bin'))];
  if (digests === undefined || looks === undefined) return undefined;
  const splits = new Map<SplitName, BigUint64Array>();
  for (const name of SPLITS.filter((split) => tally.splits?.[split] !== undefined)) {
    const stored = await bytesOf(quality(`digests-${name}.bin`));
    if (stored === undefined) return undefined;
    splits.set(name, decodeNumbers(stored));
  }
  return { tally, digests: decodeNumbers(digests), looks: decodeNumbers(looks), splits };
}

const parseTally = (bytes: Uint8Array | undefined): Tally | undefined =>
  bytes === undefined
    ? undefined
    : valueOf(readVersioned(kindOf(tallySchema), parseJson(Buffer.from(bytes).toString())));

/** Reads one member list at a time. */
export async function factsWithout(
  store: BlobStore,
  manifest: Manifest,
  leftOut: LeftOutSamples,
): Promise<GenerationFacts> {
  const keys = packingKeys(manifest.pipeline, manifest.generation);
  const counted = new GenerationTally({
    preparesImages: manifest.prepared !== undefined,
    keepsNames: SHARD_FORMATS[manifest.format].takes === 'samples',
  });
  for (const shard of manifest.shards) {
    counted.beginShard(shard.name);
    for (const line of await memberLines(store, keys, shard))
      if (!leftOut.has(line.sample)) counted.add(line);
    counted.endShard();
  }
  return { tally: counted.tally, digests: counted.digests(), looks: counted.looks, splits: counted.splits() };
}

/** The tally is written last: without it the lists beside it do not count. */
async function countFacts(store: BlobStore, manifest: Manifest): Promise<GenerationFacts> {
  const keys = packingKeys(manifest.pipeline, manifest.generation);
  const facts = await factsWithout(store, manifest, new Map());
  for (const [name, digests] of facts.splits)
    await store.put(keys.quality(`digests-${name}.bin`), encodeNumbers(digests));
  await store.put(keys.quality('digests.bin'), encodeNumbers(facts.digests));
  await store.put(keys.quality('looks.bin'), encodeNumbers(facts.looks));
  const body = Buffer.from(`${JSON.stringify(facts.tally)}\n`);
  await store.put(keys.quality('tally.json'), body, { contentType: 'application/json' });
  return facts;
}
