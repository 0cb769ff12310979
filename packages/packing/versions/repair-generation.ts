/**
 * Repairs a generation that a person has damaged: it seals again what a plan still proves, accepts the right bytes under
 * another ETag, or gives the generation up, so that the next run packs its arrivals again.
 */

import { parseGeneration } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { kindOf } from '@tidewheel/kit/stored.ts';
import { manifestsOfPlan, packCompaction } from '../compaction/compact-shards.ts';
import { itemsOf, readCompactionPlan } from '../compaction/plan-compaction.ts';
import { sealCompaction } from '../compaction/seal-compaction.ts';
import { CompactionAbandonedError } from '../compaction/shard-reader.ts';
import { type BlobStore, joinChunks, listPages, readText } from '../documents/blob-store.ts';
import { readPlan } from '../documents/committed-plan.ts';
import { readDocument, shardRecordSchema } from '../documents/documents.ts';
import type { Manifest } from '../documents/manifest.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { ManifestError, readSealedManifest } from '../documents/sealed-arrivals.ts';
import { batchOf, blobVersions, newestVersion, waitingGenerations } from '../documents/versions.ts';
import { sealDataset } from '../seal/seal-dataset.ts';
import { spotCheck, verifyGeneration } from '../verify/verify.ts';
import { keepRetractions, type Retractions, readKeptRetractions } from './kept-retractions.ts';
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
  /** Shards of a joined generation that were gone, and were joined again from its inputs. */
  readonly rejoined: readonly string[];
  /** Empty if the generation is whole now. */
  readonly problems: readonly string[];
}

/**
 * Reads every byte of the generation. Changes nothing but the manifest, and that only to one that proves to be right, and
 * joins lost shards again while the generations that they came from are there.
 */
export async function repairGeneration(store: BlobStore, request: RepairRequest): Promise<Repair> {
  const { pipeline, generation } = request;
  const found = await manifestOf(store, pipeline, generation);
  if (found !== undefined) {
    const rejoined = await rejoinLost(store, request, found);
    return { isSealedAgain: false, rejoined, ...(await acceptETags(store, found)) };
  }
  const none = { accepted: [], rejoined: [] };
  const problem = await sealAgain(store, request);
  if (problem !== undefined) return { isSealedAgain: false, ...none, problems: [problem] };
  const sealed = await readSealedManifest(store, pipeline, generation);
  const problems =
    sealed === undefined ? ['it has no manifest'] : (await verifyGeneration(store, sealed)).problems;
  return { isSealedAgain: true, ...none, problems };
}

/** The same plan gives the same bytes. Nothing is joined where an input is gone. */
async function rejoinLost(
  store: BlobStore,
  { pipeline, generation, packing }: RepairRequest,
  manifest: Manifest,
): Promise<readonly string[]> {
  if (manifest.compacted === undefined || manifest.pruned === true) return [];
  const keys = packingKeys(pipeline, generation);
  const gone = async (): Promise<string[]> => {
    const names: string[] = [];
    for (const { name, bytes } of manifest.shards)
      if ((await store.head(`${keys.shards(manifest.revision)}${name}`))?.size !== bytes) names.push(name);
    return names;
  };
  const before = await gone();
  if (before.length === 0 || (await store.head(keys.planCommit)) === undefined) return [];
  try {
    await joinAgain(store, { pipeline, generation, packing });
  } catch (error: unknown) {
    if (error instanceof CompactionAbandonedError) return [];
    throw error;
  }
  const after = await gone();
  return before.filter((name) => !after.includes(name));
}

/** Joins what a compaction's plan lacks. */
async function joinAgain(store: BlobStore, { pipeline, generation, packing }: RepairRequest): Promise<void> {
  const plan = await readCompactionPlan(store, pipeline, generation);
  await manifestsOfPlan(store, plan);
  const keys = packingKeys(pipeline, generation);
  for (const shard of plan.shards.keys()) await forgetLost(store, keys.shardRecord(plan.digest, shard));
  for (const item of itemsOf(plan)) await packCompaction({ store }, { pipeline, packing, item });
}

/** S3 may answer a second completion of an upload as it did the first, although the object was deleted since. */
async function forgetLost(store: BlobStore, recordKey: string): Promise<void> {
  const text = await readText(store, recordKey);
  if (text === undefined) return;
  const { key, bytes, samples } = readDocument(kindOf(shardRecordSchema), recordKey, text);
  if (samples > 0 && (await store.head(key))?.size !== bytes) await store.delete(recordKey);
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
  const keys = packingKeys(pipeline, runId);
  const isJoined = parseGeneration(runId)?.isCompacted === true;
  const isPlanned = isJoined
    ? (await store.head(keys.planCommit)) !== undefined
    : (await readPlan(store, { pipeline, runId })) !== undefined;
  if (!isPlanned)
    return `its plan is gone too: restore ${keys.manifest} from an older version of the object, or give the generation up`;
  await setAside(store, keys.manifest);
  try {
    if (isJoined) {
      await joinAgain(store, { pipeline, generation: runId, packing });
      await sealCompaction(store, { pipeline, generation: runId, packing });
    } else await sealDataset({ store, spotCheck }, { runId, pipeline, packing });
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

export type GivenUp =
  | Extract<PruneResult, { readonly kind: 'refused' }>
  | (Extract<PruneResult, { readonly kind: 'pruned' | 'wouldPrune' }> &
      Omit<Retractions, 'found'> & {
        /** Retracted objects that stay out. */
        readonly retracted: number;
      });

/**
 * Removes one generation from the dataset, and all that lies in its folder but what a person retracted. The next run
 * packs what else lies under `incoming/` again. Safe to repeat.
 */
export async function giveUpGeneration(
  store: BlobStore,
  { pipeline, generation, ...request }: Omit<PruneRequest, 'what'> & { readonly generation: string },
): Promise<GivenUp> {
  const keys = packingKeys(pipeline, generation);
  const manifest = await manifestOf(store, pipeline, generation);
  if (manifest === undefined) await setAside(store, keys.manifest);
  const { found, unread } = await readKeptRetractions(store, { pipeline, generation, manifest });
  const pruned =
    (await giveUpWaiting(store, { ...request, pipeline, generation })) ??
    (await pruneGenerations(store, { ...request, pipeline, what: { only: generation } }));
  if (pruned.kind === 'refused') return pruned;
  const kept = await keepRetractions(store, { pipeline, generation, manifest, found });
  let { objects, bytes } = pruned;
  for await (const page of listPages(store, keys.generation)) {
    const gone = page.objects.filter(({ key }) => !kept.has(key));
    await store.deleteMany(gone.map(({ key }) => key));
    objects += gone.length;
    bytes += gone.reduce((sum, { size }) => sum + size, 0);
  }
  return { ...pruned, generations: [generation], objects, bytes, retracted: found.length, unread };
}
