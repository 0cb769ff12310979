/** Packs one item of a compaction's plan: joins its shards and commits each by a record, as PackShards does. */

import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { randomBelow, seededUint32 } from '@tidewheel/kit/seeded-random.ts';
import { type BlobStore, joinChunks } from '../documents/blob-store.ts';
import { compress } from '../documents/compressed-lines.ts';
import { DOCUMENT_VERSION, type MemberLine } from '../documents/documents.ts';
import type { Manifest } from '../documents/manifest.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { manifestsOf } from '../documents/sealed-arrivals.ts';
import { memberLines } from '../documents/sealed-lines.ts';
import type { Extents, Join, SampleLines } from '../documents/shard-format.ts';
import { formatOf } from '../formats/formats.ts';
import { commitShard, finishedShard } from '../shard/commit-shard.ts';
import { DEFAULT_UPLOAD, PartBuffers, type UploadLimits } from '../shard/shard-upload.ts';
import { plannedSplitOf } from '../splits/split-rule.ts';
import { DroppedCopies } from './balance-again.ts';
import type { JoinInput } from './join-job.ts';
import { joinShard } from './join-shard.ts';
import {
  type CompactionItem,
  type CompactionPlan,
  copyChangesOf,
  isJoined,
  leftOutOf,
  readCompactionPlan,
  samplesEachOf,
} from './plan-compaction.ts';
import { CompactionAbandonedError, ShardReader } from './shard-reader.ts';

export interface PackCompactionInput {
  readonly pipeline: string;
  readonly packing: PackingSettings;
  readonly item: CompactionItem;
}

export interface PackCompactionDeps {
  readonly store: BlobStore;
  readonly upload?: UploadLimits;
  /** Bytes of old shards that are held at once. */
  readonly readBytes?: number;
  /** Of one sample that is written several times. */
  readonly mostHeldBytes?: number;
}

const MOST_HELD_BYTES = 16 * 1024 * 1024;
const DEFAULT_READ_BYTES = 64 * 1024 * 1024;
const LEAST_PIECE_BYTES = 16 * 1024;
const MOST_PIECE_BYTES = 8 * 1024 * 1024;

export async function packCompaction(
  deps: PackCompactionDeps,
  { pipeline, packing, item }: PackCompactionInput,
): Promise<{ readonly item: number; readonly shards: number; readonly skipped: number }> {
  const plan = await readCompactionPlan(deps.store, pipeline, item.generation);
  if (plan.digest !== item.plan)
    throw new Error(`item ${item.item} belongs to another plan than that of ${item.generation}`);
  const first = plan.itemShards[item.item] ?? 0;
  const end = plan.itemShards[item.item + 1] ?? first;
  const manifests = await manifestsOfPlan(deps.store, plan);
  const buffers = new PartBuffers(deps.upload ?? DEFAULT_UPLOAD);
  let skipped = 0;
  for (let shard = first; shard < end; shard += 1) {
    const recordKey = packingKeys(pipeline, plan.generation).shardRecord(plan.digest, shard);
    if ((await finishedShard(deps.store, recordKey)) !== undefined) skipped += 1;
    else await packOne(deps, { plan, packing, manifests, shard, recordKey, buffers });
  }
  return { item: item.item, shards: end - first, skipped };
}

/** Manifests of the inputs, in the plan's order. */
export async function manifestsOfPlan(store: BlobStore, plan: CompactionPlan): Promise<Manifest[]> {
  const names = plan.of.map(({ generation }) => generation);
  const manifests = await manifestsOf(store, plan.pipeline, names);
  if (manifests.length !== names.length || manifests.some(({ pruned }) => pruned === true))
    throw new CompactionAbandonedError(plan.generation, 'one of its inputs was pruned');
  return manifests;
}

/** A generation without shards, such as one of deletions, has neither columns nor a header. */
export const firstWithShards = (manifests: readonly Manifest[]): Manifest | undefined =>
  manifests.find(({ shards }) => shards.length > 0);

interface OneShard {
  readonly plan: CompactionPlan;
  readonly packing: PackingSettings;
  readonly manifests: readonly Manifest[];
  readonly shard: number;
  readonly recordKey: string;
  readonly buffers: PartBuffers;
}

async function packOne(deps: PackCompactionDeps, one: OneShard): Promise<void> {
  const { plan, packing, shard, buffers } = one;
  const keys = packingKeys(plan.pipeline, plan.generation);
  const format = formatOf(packing);
  const name = keys.shardName(shard, format.suffix(packing), plannedSplitOf(plan.splits, shard)?.name);
  const key = `${keys.shards()}${name}`;
  const inputs = await openInputs(deps, one);
  const counts = inputs.map(({ kept }) => kept.length);
  const seed = `${packing.seed}/${plan.generation}/${shard}`;
  const joined = await joinShard(
    { store: deps.store, buffers },
    {
      key,
      packing,
      format,
      schema: firstWithShards(one.manifests)?.schema ?? {},
      inputs,
      order: packing.shuffle ? interleave(counts, seed) : concatenate(counts),
      samples: samplesEachOf(plan, shard),
    },
  );
  const { sha256, bytes: text, members } = joined.list;
  const list = keys.memberList(shard, sha256);
  await deps.store.put(`${keys.generation}${list}`, compress(text), { contentType: 'application/gzip' });
  await commitShard(deps.store, one.recordKey, {
    version: DOCUMENT_VERSION,
    shard,
    name,
    key,
    bytes: joined.bytes,
    ...joined.sums,
    samples: joined.samples,
    members,
    upload: { id: joined.upload.id, parts: joined.parts.map((part) => ({ ...part })) },
    memberList: { key: list, sha256 },
    exclusions: [],
  });
}

async function openInputs(deps: PackCompactionDeps, one: OneShard): Promise<JoinInput[]> {
  const { plan, packing, manifests, shard } = one;
  const olds = plan.shards[shard] ?? [];
  const share = Math.floor((deps.readBytes ?? DEFAULT_READ_BYTES) / (2 * Math.max(1, olds.length)));
  const pieceBytes = Math.min(MOST_PIECE_BYTES, Math.max(LEAST_PIECE_BYTES, share));
  const inputs: JoinInput[] = [];
  for (const [input, number] of olds) {
    const manifest = manifests[input];
    const old = manifest?.shards[number];
    if (manifest === undefined || old === undefined)
      throw new CompactionAbandonedError(plan.generation, 'a manifest lacks a shard that the plan names');
    const keys = packingKeys(plan.pipeline, manifest.generation);
    const samples = samplesOf(await memberLines(deps.store, keys, old));
    const leftOut = leftOutOf(plan, input);
    const { added, dropped } = copyChangesOf(plan, input);
    const droppedCopies = new DroppedCopies(dropped);
    const kept = [...samples.entries()].flatMap(([index, [first]]) =>
      first !== undefined &&
      isJoined(plan, leftOut, first) &&
      !droppedCopies.has(number, first.sample, first.repeat)
        ? [index]
        : [],
    );
    const key = `${keys.shards(manifest.revision)}${old.name}`;
    const what = { key, shard: old, pieceBytes, compaction: plan.generation };
    const isGzipped = manifest.compression === 'gzip';
    const extents = await extentsOf(deps.store, formatOf(packing).join, { key, shard: old, samples });
    const base = plan.of[input]?.base ?? 0;
    inputs.push({
      reader: new ShardReader(deps.store, { ...what, isGzipped }),
      mostHeldBytes: deps.mostHeldBytes ?? MOST_HELD_BYTES,
      readFrom: (offset) => new ShardReader(deps.store, { ...what, isGzipped }, offset),
      samples,
      kept,
      added,
      extents,
      base,
    });
  }
  return inputs;
}

function samplesOf(lines: readonly MemberLine[]): SampleLines[] {
  const samples: MemberLine[][] = [];
  let last: MemberLine | undefined;
  for (const line of lines) {
    if (last?.sample === line.sample && last.repeat === line.repeat) samples.at(-1)?.push(line);
    else samples.push([line]);
    last = line;
  }
  return samples;
}

interface OldShard {
  readonly key: string;
  readonly shard: Manifest['shards'][number];
  readonly samples: readonly SampleLines[];
}

/** Where the samples of an old shard lie; undefined if only its frames tell. */
async function extentsOf(
  store: BlobStore,
  join: Join,
  { key, shard, samples }: OldShard,
): Promise<Extents | undefined> {
  switch (join.by) {
    case 'memberList':
      return join.extents(samples, shard.bytes);
    case 'table': {
      const range = { offset: 0, length: join.tableBytes(samples.length) };
      const found = await store.get(key, { ifMatch: shard.etag, range });
      if (found.kind !== 'found')
        throw new CompactionAbandonedError(key, 'it is not the object that was sealed');
      return join.extents(Buffer.from(joinChunks(found.chunks)));
    }
    case 'frames':
    case 'rows':
      return undefined;
    default:
      return join satisfies never;
  }
}

/**
 * Interleaves the shards at random. All interleavings are equally likely, so the whole is shuffled if each shard is.
 * Every shard is still read sequentially.
 * @param counts samples in each shard
 * @returns for each place the shard whose next sample it gets
 */
function interleave(counts: readonly number[], seed: string): Uint32Array {
  const left = [...counts];
  let total = counts.reduce((sum, count) => sum + count, 0);
  const order = new Uint32Array(total);
  const next = seededUint32(seed);
  for (let place = 0; place < order.length; place += 1) {
    let pick = randomBelow(next, total);
    let shard = 0;
    while (pick >= (left[shard] ?? 0)) {
      pick -= left[shard] ?? 0;
      shard += 1;
    }
    order[place] = shard;
    left[shard] = (left[shard] ?? 0) - 1;
    total -= 1;
  }
  return order;
}

/** One shard after the other. */
const concatenate = (counts: readonly number[]): Uint32Array =>
  Uint32Array.from(counts.flatMap((count, shard) => Array.from({ length: count }, () => shard)));
