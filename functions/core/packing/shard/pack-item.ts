/** PackShards: the shards of one Map item. What is finished already is skipped. */

import type { PackingSettings } from '../../pipeline/pipeline.ts';
import { bucketKeys } from '../../shared/keys.ts';
import { formatOf } from '../formats/formats.ts';
import { type BlobStore, joinChunks } from '../model/blob-store.ts';
import { outdatedEngine, readPlan } from '../model/committed-plan.ts';
import type { Plan, PlanItem, PlannedSample, ShardRecord } from '../model/documents.ts';
import type { ImageEngine } from '../model/image-preparation.ts';
import { places } from '../model/packing-keys.ts';
import { type PlannedSamples, samplesByShard } from '../model/planned-samples.ts';
import { maskFinder } from '../model/sample-layout.ts';
import { hasFixedLayout } from '../model/shard-format.ts';
import { compress, decompress } from '../model/spool.ts';
import { decideShard, finishedShard } from './commit-shard.ts';
import { DEFAULT_WINDOW, slotsFor, type WindowLimits } from './fetch-window.ts';
import { buildShard } from './pack-shard.ts';
import { engineFor, Preparations } from './shard-images.ts';
import type { PackDeps } from './shard-job.ts';
import { DEFAULT_UPLOAD, PartBuffers, type UploadLimits } from './shard-upload.ts';

export interface PackItemDeps {
  readonly store: BlobStore;
  readonly window?: WindowLimits;
  readonly upload?: UploadLimits;
  /** Opened only for a plan that prepares images. */
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
  /** Shards that were found finished. */
  readonly skipped: number;
}

export async function packItem(deps: PackItemDeps, input: PackItemInput): Promise<PackItemResult> {
  const at = places(input.pipeline, input.runId);
  const plan = await readPlan(deps.store, input);
  if (plan?.digest !== input.item.plan)
    throw new Error(`the plan of ${input.runId} is not the one that this item belongs to`);
  const outdated = outdatedEngine(input.runId, plan);
  if (outdated !== undefined) throw outdated;
  const list = await readList(deps.store, at.planList(plan, input.item.item));
  const window = deps.window ?? DEFAULT_WINDOW;
  const pack: PackDeps = {
    store: deps.store,
    buffers: new PartBuffers(deps.upload ?? DEFAULT_UPLOAD),
    window,
    slots: slotsFor(window),
  };
  const engine = plan.prepare && engineFor(plan.prepare.engine, deps.images?.());
  let skipped = 0;
  for (const [shard, samples] of list) {
    const recordKey = at.shardRecord(input.item.plan, shard);
    if ((await finishedShard(deps.store, recordKey)) !== undefined) skipped += 1;
    else {
      const even = evenOf(plan, shard);
      await packOne(pack, input, { shard, samples, recordKey, plan, even, engine });
    }
  }
  return { item: input.item.item, shards: list.size, skipped };
}

const evenOf = ({ even }: Plan, shard: number): number | undefined =>
  even !== undefined && shard < even.shards ? even.samples : undefined;

interface OneShard {
  readonly shard: number;
  readonly samples: Iterable<PlannedSample>;
  readonly recordKey: string;
  readonly plan: Plan;
  /** Samples that the shard must hold. */
  readonly even: number | undefined;
  readonly engine: ImageEngine | undefined;
}

async function packOne(deps: PackDeps, input: PackItemInput, one: OneShard): Promise<ShardRecord> {
  const at = places(input.pipeline, input.runId);
  const format = formatOf(input.packing);
  const { revision, facts } = one.plan;
  const name = at.shardName(one.shard, format.suffix(input.packing));
  const key = `${at.shards(revision)}${name}`;
  const incoming = bucketKeys.incoming(input.pipeline);
  const { packing } = input;
  const { samples, shard, even, engine } = one;
  const preparations = preparationsOf(packing, incoming, one);
  const built = await buildShard(deps, {
    key,
    shard,
    incoming,
    packing,
    format,
    facts,
    samples,
    even,
    preparations,
  });
  const { sha256 } = built.list;
  const list = at.memberList(one.shard, sha256);
  await deps.store.put(`${at.generation}${list}`, compress(built.list.bytes), {
    contentType: 'application/gzip',
  });
  return decideShard(deps.store, one.recordKey, {
    version: 1,
    shard: one.shard,
    name,
    key,
    bytes: built.bytes,
    crc32: built.crc32,
    samples: built.samples,
    members: built.list.members,
    upload: { id: built.upload.id, parts: built.parts.map((part) => ({ ...part })) },
    memberList: { key: list, sha256 },
    ...(engine && { prepared: built.list.preparedBy([engine.build]) }),
    exclusions: [...built.exclusions],
  });
}

/** A shard that may have to be built again holds what it prepared. */
function preparationsOf(
  packing: PackingSettings,
  incoming: string,
  { engine, even }: OneShard,
): Preparations | undefined {
  const image = packing.prepare?.image;
  if (engine === undefined || image === undefined) return undefined;
  const holds = hasFixedLayout(formatOf(packing)) || even !== undefined;
  return new Preparations(engine, image, { holds, isMask: maskFinder(packing, incoming) });
}

/** The lists are ours and named by the plan's digest: a damaged one fails to parse. */
async function readList(store: BlobStore, key: string): Promise<Map<number, PlannedSamples>> {
  const found = await store.get(key);
  if (found.kind !== 'found')
    throw new Error(`the plan's list ${key} is gone; remove the run's plan folder to plan again`);
  return samplesByShard(decompress(joinChunks(found.chunks)));
}
