/**
 * PackShards: packs the shards of one Map item, and keeps its memory for the next. It skips shards that are finished
 * already.
 */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { type BlobStore, joinChunks } from '../documents/blob-store.ts';
import { outdatedEngine, readPlan } from '../documents/committed-plan.ts';
import { compress, decompress } from '../documents/compressed-lines.ts';
import {
  DOCUMENT_VERSION,
  type Plan,
  type PlanItem,
  type PlannedSample,
  type ShardRecord,
} from '../documents/documents.ts';
import { type HeldSamples, readHeld } from '../documents/held-samples.ts';
import type { ImageEngine } from '../documents/image-preparation.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { maskFinder } from '../documents/sample-layout.ts';
import { hasFixedLayout } from '../documents/shard-format.ts';
import { formatOf } from '../formats/formats.ts';
import { type PlannedSamples, samplesByShard } from '../plan/item-lists.ts';
import { evenCountOf, plannedSplitOf } from '../splits/split-rule.ts';
import { commitShard, finishedShard } from './commit-shard.ts';
import { DEFAULT_WINDOW, readBuffersFor, type WindowLimits } from './fetch-window.ts';
import type { ReadBuffers } from './read-buffers.ts';
import { buildShard } from './shard-builder.ts';
import { engineFor, PreparedImages } from './shard-images.ts';
import type { PackDeps } from './shard-job.ts';
import { DEFAULT_UPLOAD, PartBuffers, type UploadLimits } from './shard-upload.ts';

export interface PackMemory {
  readonly buffers: PartBuffers;
  readonly readBuffers: ReadBuffers;
}

/**
 * Keeps the memory of one item for the next, which would otherwise lie beside that of the last one until V8 collects
 * it. The limits of all items are the same.
 */
export class KeptMemory {
  #idle: PackMemory | undefined;

  /** A second taker, or one after a failure, gets memory of its own. */
  take(window: WindowLimits, upload: UploadLimits): PackMemory {
    const taken = this.#idle ?? {
      buffers: new PartBuffers(upload),
      readBuffers: readBuffersFor(window),
    };
    this.#idle = undefined;
    return taken;
  }

  /** Not after a failure: a request that was given up may still write into it. */
  giveBack(memory: PackMemory): void {
    this.#idle = memory;
  }
}

export interface PackItemDeps {
  readonly store: BlobStore;
  readonly window?: WindowLimits;
  readonly upload?: UploadLimits;
  /** That of the process; it was made for the same limits. */
  readonly memory?: KeptMemory;
  /** Called only for a plan that prepares images. */
  readonly images?: (() => ImageEngine | undefined) | undefined;
}

export interface PackItemInput {
  readonly runId: string;
  readonly pipeline: string;
  readonly packing: PackingSettings;
  readonly item: PlanItem;
}

export interface PackItemResult {
  readonly item: number;
  readonly shards: number;
  /** Shards that were finished before. */
  readonly skipped: number;
}

export async function packItem(deps: PackItemDeps, input: PackItemInput): Promise<PackItemResult> {
  const keys = packingKeys(input.pipeline, input.runId);
  const plan = await readPlan(deps.store, input);
  if (plan?.digest !== input.item.plan)
    throw new Error(`item ${input.item.item} belongs to another plan than that of ${input.runId}`);
  const outdated = outdatedEngine(input.runId, plan);
  if (outdated !== undefined) throw outdated;
  const list = await readList(deps.store, keys.planList(plan.digest, input.item.item));
  const { store, window = DEFAULT_WINDOW, upload = DEFAULT_UPLOAD, memory: kept = new KeptMemory() } = deps;
  const memory = kept.take(window, upload);
  const pack: PackDeps = { store, window, ...memory };
  const engine = plan.prepare && engineFor(plan.prepare.engine, deps.images?.());
  const held = await readHeld(deps.store, plan);
  let skipped = 0;
  for (const [shard, samples] of list) {
    const recordKey = keys.shardRecord(plan.digest, shard);
    if ((await finishedShard(deps.store, recordKey)) !== undefined) skipped += 1;
    else {
      const even = evenCountOf(plan, shard);
      await packOne(pack, input, { shard, samples, recordKey, plan, even, engine, held });
    }
  }
  kept.giveBack(memory);
  return { item: input.item.item, shards: list.size, skipped };
}

interface OneShard {
  readonly shard: number;
  readonly samples: Iterable<PlannedSample>;
  readonly recordKey: string;
  readonly plan: Plan;
  /** Samples that the shard must hold. */
  readonly even: number | undefined;
  readonly engine: ImageEngine | undefined;
  readonly held: HeldSamples;
}

async function packOne(deps: PackDeps, input: PackItemInput, one: OneShard): Promise<ShardRecord> {
  const { pipeline } = input;
  const packing = { ...input.packing, innerSuffixes: one.plan.innerSuffixes };
  const { samples, shard, even, engine, held } = one;
  const { revision, sourceSchema } = one.plan;
  const keys = packingKeys(pipeline, input.runId);
  const format = formatOf(packing);
  const split = plannedSplitOf(one.plan.splits, shard)?.name;
  const name = keys.shardName(shard, format.suffix(packing), split);
  const key = `${keys.shards(revision)}${name}`;
  const incoming = bucketKeys.incoming(pipeline);
  const preparations = preparationsOf(packing, incoming, one);
  const built = await buildShard(deps, {
    key,
    shard,
    incoming,
    packing,
    format,
    sourceSchema,
    samples,
    even,
    held,
    preparations,
  });
  const { sha256 } = built.list;
  const list = keys.memberList(shard, sha256);
  await deps.store.put(`${keys.generation}${list}`, compress(built.list.bytes), {
    contentType: 'application/gzip',
  });
  return commitShard(deps.store, one.recordKey, {
    version: DOCUMENT_VERSION,
    shard,
    name,
    key,
    bytes: built.bytes,
    ...built.sums,
    samples: built.samples,
    members: built.list.members,
    upload: { id: built.upload.id, parts: built.parts.map((part) => ({ ...part })) },
    memberList: { key: list, sha256 },
    ...(engine && { prepared: built.list.preparedBy([engine.build]) }),
    exclusions: [...built.exclusions],
  });
}

/** Results are held for a shard that may have to be built again. */
function preparationsOf(
  packing: PackingSettings,
  incoming: string,
  { engine, even }: OneShard,
): PreparedImages | undefined {
  const image = packing.prepare?.image;
  if (engine === undefined || image === undefined) return undefined;
  const holds = hasFixedLayout(formatOf(packing)) || even !== undefined;
  return new PreparedImages(engine, image, { holds, isMask: maskFinder(packing, incoming) });
}

/** The plan's digest names the lists, and parsing finds a damaged one. */
async function readList(store: BlobStore, key: string): Promise<Map<number, PlannedSamples>> {
  const found = await store.get(key);
  if (found.kind !== 'found')
    throw new Error(`the plan's list ${key} is gone: remove the run's plan folder, and the run plans again`);
  return samplesByShard(decompress(joinChunks(found.chunks)));
}
