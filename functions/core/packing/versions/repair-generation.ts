/**
 * Repairs a generation that a person has damaged: it seals again what a plan still proves, accepts the right bytes under
 * another ETag, or gives the generation up, so that the next run packs its arrivals again.
 */
import type { PackingSettings } from '../../pipeline/pipeline.ts';
import { messageOf } from '../../shared/errors.ts';
import { parseGeneration } from '../../shared/keys.ts';
import { type BlobStore, joinChunks, listPages } from '../model/blob-store.ts';
import { readPlan } from '../model/committed-plan.ts';
import type { Manifest } from '../model/manifest.ts';
import { packingKeys } from '../model/packing-keys.ts';
import { ManifestError, readSealedManifest } from '../model/sealed-arrivals.ts';
import { batchOf, blobVersions, newestVersion, waitingGenerations } from '../model/versions.ts';
import { sealDataset } from '../seal/seal-dataset.ts';
import { spotCheck } from '../verify/spot-check.ts';
import { verifyGeneration } from '../verify/verify.ts';
import {
  type PruneRequest,
  type PruneResult,
  pruneGenerations,
  unfinishedRuns,
} from './prune-generations.ts';

export interface RepairRequest {
  readonly pipeline: string;
  readonly generation: string;
  /** Of the declaration as it was when the generation was packed. */
  readonly packing: PackingSettings;
}

export interface Repair {
  /** The manifest was written again from the plan. */
  readonly isSealedAgain: boolean;
  /** Shards whose bytes are right under another ETag, which the manifest now names. */
  readonly accepted: readonly string[];
  /** Empty if the generation is whole now. */
  readonly problems: readonly string[];
}

/** Reads every byte of the generation. Changes nothing but the manifest, and that only to one that proves to be right. */
export async function repairGeneration(store: BlobStore, request: RepairRequest): Promise<Repair> {
  const { pipeline, generation } = request;
  const found = await manifestOf(store, pipeline, generation);
  if (found !== undefined) return { isSealedAgain: false, ...(await acceptETags(store, found)) };
  const problem = await sealAgain(store, request);
  if (problem !== undefined) return { isSealedAgain: false, accepted: [], problems: [problem] };
  const sealed = await readSealedManifest(store, pipeline, generation);
  const problems =
    sealed === undefined ? ['it has no manifest'] : (await verifyGeneration(store, sealed)).problems;
  return { isSealedAgain: true, accepted: [], problems };
}

/** Undefined if the manifest is gone or cannot be read. */
async function manifestOf(
  store: BlobStore,
  pipeline: string,
  generation: string,
): Promise<Manifest | undefined> {
  try {
    return await readSealedManifest(store, pipeline, generation);
  } catch (error: unknown) {
    if (error instanceof ManifestError) return undefined;
    throw error;
  }
}

/** @returns why it cannot be sealed again */
async function sealAgain(
  store: BlobStore,
  { pipeline, generation: runId, packing }: RepairRequest,
): Promise<string | undefined> {
  if (parseGeneration(runId)?.isCompacted !== false)
    return 'a joined generation has no plan of a run: restore its manifest, or give it up';
  if ((await readPlan(store, { pipeline, runId })) === undefined)
    return `its plan is gone too: restore ${packingKeys(pipeline, runId).manifest} from an older version of the object, or give the generation up`;
  await setAside(store, packingKeys(pipeline, runId).manifest);
  try {
    await sealDataset({ store, spotCheck }, { runId, pipeline, packing });
    return undefined;
  } catch (error: unknown) {
    return messageOf(error);
  }
}

/** A manifest that cannot be read stands in the way of a new one. */
async function setAside(store: BlobStore, key: string): Promise<void> {
  const found = await store.get(key);
  if (found.kind !== 'found') return;
  await store.put(`${key}.damaged`, joinChunks(found.chunks));
  await store.delete(key);
}

async function acceptETags(
  store: BlobStore,
  manifest: Manifest,
): Promise<Pick<Repair, 'accepted' | 'problems'>> {
  const { pipeline, generation, revision } = manifest;
  const keys = packingKeys(pipeline, generation);
  const accepted: string[] = [];
  const shards: Manifest['shards'] = [];
  for (const shard of manifest.shards) {
    const head = await store.head(`${keys.shards(revision)}${shard.name}`);
    const isOther = head !== undefined && head.size === shard.bytes && head.etag !== shard.etag;
    if (isOther) accepted.push(shard.name);
    shards.push(isOther ? { ...shard, etag: head.etag } : shard);
  }
  const repaired: Manifest = { ...manifest, shards };
  const { problems } = await verifyGeneration(store, repaired);
  if (problems.length > 0 || accepted.length === 0) return { accepted: [], problems };
  const before = await store.head(keys.manifest);
  const body = Buffer.from(`${JSON.stringify(repaired, undefined, 1)}\n`);
  const put =
    before === undefined
      ? { kind: 'refused' }
      : await store.put(keys.manifest, body, {
          only: { etag: before.etag },
          contentType: 'application/json',
        });
  return put.kind === 'written'
    ? { accepted, problems }
    : { accepted: [], problems: ['the manifest changed meanwhile: run the command again'] };
}

/**
 * A generation that waits for its compaction is in no version, and nothing reads it but the run that joins it. Undefined
 * if the generation is none.
 */
async function giveUpWaiting(
  store: BlobStore,
  { pipeline, generation, over = [] }: Omit<PruneRequest, 'what'> & { readonly generation: string },
): Promise<PruneResult | undefined> {
  const versions = blobVersions(store);
  const waiting = await waitingGenerations(versions, pipeline, await newestVersion(versions, pipeline));
  if (!waiting.includes(generation)) return undefined;
  const runs = await unfinishedRuns(store, pipeline);
  const joining = runs.filter((run) => batchOf(run) >= batchOf(generation) && !over.includes(run));
  if (joining.length > 0)
    return {
      kind: 'refused',
      reasons: joining.map(
        (run) =>
          `${run} may join ${generation} (it has no report yet): wait until it ends, or pass --over ${run} if it has ended`,
      ),
    };
  await store.delete(packingKeys(pipeline, generation).manifest);
  return { kind: 'pruned', generations: [generation], objects: 1, bytes: 0 };
}

/**
 * Removes one generation from the dataset, and all that lies in its folder. The next run packs what lies under
 * `incoming/` again. Safe to repeat.
 */
export async function giveUpGeneration(
  store: BlobStore,
  { pipeline, generation, ...request }: Omit<PruneRequest, 'what'> & { readonly generation: string },
): Promise<PruneResult> {
  const keys = packingKeys(pipeline, generation);
  if ((await manifestOf(store, pipeline, generation)) === undefined) await setAside(store, keys.manifest);
  const pruned =
    (await giveUpWaiting(store, { ...request, pipeline, generation })) ??
    (await pruneGenerations(store, { ...request, pipeline, what: { only: generation } }));
  if (pruned.kind !== 'pruned') return pruned;
  let { objects, bytes } = pruned;
  for await (const page of listPages(store, keys.generation)) {
    await store.deleteMany(page.objects.map(({ key }) => key));
    objects += page.objects.length;
    bytes += page.objects.reduce((sum, { size }) => sum + size, 0);
  }
  return { ...pruned, generations: [generation], objects, bytes };
}
