/**
 * PlanShards makes one immutable plan for a run, however often it is called. A preview says what it would be, and only
 * reads.
 */

import { hash } from 'node:crypto';
import { isGivenSplit, isUnpacked, partsOf } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import { type CommittedPlan, commitPlan, committedPlan } from '../documents/committed-plan.ts';
import { decompress } from '../documents/compressed-lines.ts';
import { DOCUMENT_VERSION, type Plan } from '../documents/documents.ts';
import { heldText, writeHeld } from '../documents/held-samples.ts';
import { IMAGE_ENGINE } from '../documents/image-preparation.ts';
import type { Manifest } from '../documents/manifest.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { readSealedManifest } from '../documents/sealed-arrivals.ts';
import { shardCountRules, workersOf } from '../documents/shard-count.ts';
import { blobVersions, newestVersion, waitingGenerations } from '../documents/versions.ts';
import type { Annotations } from '../labels/annotations.ts';
import { writeCompared } from '../labels/corrected-labels.ts';
import {
  type AssignmentLimits,
  assignSamples,
  assignSplits,
  type SampleSizes,
  type ShardAssignment,
  shardCounts,
} from './assign-samples.ts';
import { type DraftDeps, type Drafted, draftPlan, type PlanInput, sourceSchemaOf } from './draft-arrivals.ts';
import type { DraftPlan } from './draft-plan.ts';
import { itemLists } from './item-lists.ts';
import { draftFiles } from './plan-files.ts';

export interface PlanResult {
  readonly status: 'planned' | 'nothingNew';
  /** Number of Map items. */
  readonly items: number;
  readonly objects: number;
  readonly bytes: number;
  /** ISO 8601: the plan holds all arrivals before this time. */
  readonly listedAt: string;
  /** With nothing new: a compaction has to add a generation of an earlier run to the dataset. */
  readonly waiting?: boolean;
}

/**
 * Returns the run's plan, and makes it if there is none. If two planners run at once, both return the plan of the
 * faster.
 * @throws PlanOutdatedError if the plan is outdated and must not be replaced
 */
export async function planShards(deps: DraftDeps, input: PlanInput): Promise<PlanResult> {
  const committed = await committedPlan(deps.store, input);
  if (committed.kind === 'outdated') {
    const sealed = await readSealedManifest(deps.store, input.pipeline, input.runId);
    if (sealed !== undefined) return resultOfSealed(sealed);
    if (input.replaceOutdated !== true) throw committed.error;
  }
  const plan = committed.kind === 'current' ? committed.plan : await makePlan(deps, input, committed);
  await writeItems(deps.store, plan);
  const result = resultOf(plan);
  return result.status === 'planned' ? result : { ...result, waiting: await isAnyWaiting(deps.store, plan) };
}

/** Whether a run failed before the compaction that adds its generation to the dataset. */
async function isAnyWaiting(store: BlobStore, { pipeline }: Plan): Promise<boolean> {
  const versions = blobVersions(store);
  const newest = await newestVersion(versions, pipeline);
  return (await waitingGenerations(versions, pipeline, newest)).length > 0;
}

/** Everything is packed, so the plan is not needed any more. */
const resultOfSealed = ({ arrivals, listedAt, bytes }: Manifest): PlanResult => ({
  status: 'planned',
  items: 0,
  objects: arrivals.objects,
  bytes,
  listedAt,
});

const resultOf = (plan: Plan): PlanResult => ({
  status: plan.objects === 0 ? 'nothingNew' : 'planned',
  items: plan.itemShards.length - 1,
  objects: plan.objects,
  bytes: plan.bytes,
  listedAt: plan.listedAt,
});

const assignmentLimits = ({
  packing,
  readers,
  runId,
}: Pick<PlanInput, 'packing' | 'readers' | 'runId'>): AssignmentLimits => ({
  shardBytes: packing.shardMegabytes * 1e6,
  seed: `${packing.seed}/${runId}`,
  shuffle: packing.shuffle,
  ...shardCountRules(packing, readers),
  remainder: packing.remainder,
});

/** Copies that balance the classes are assigned like samples. Their numbers follow those of the samples. */
function assign(draft: DraftPlan, copies: Uint32Array, input: PlanInput): ShardAssignment {
  const sampleOf = (place: number): number => copies[place - draft.samples] ?? place;
  const sizes: SampleSizes = {
    count: draft.samples + copies.length,
    bytesOf: (place) => draft.bytesOf(sampleOf(place)),
    objectsOf: (place) => draft.objectsOf(sampleOf(place)),
    ...(draft.preparesImages && { sourceBytesOf: (place: number) => draft.sourceBytesOf(sampleOf(place)) }),
    isPlanned: (place) => draft.isPlanned(sampleOf(place)),
    neighbours: draft.bundled.neighboursOf(draft.samples),
  };
  const { split } = input.packing;
  if (split === undefined) return assignSamples(sizes, assignmentLimits(input));
  const splitOf = (place: number) => draft.splitOf(sampleOf(place));
  return assignSplits(sizes, assignmentLimits(input), { parts: partsOf(split), splitOf });
}

/** A plan without shards. */
async function makeFilesPlan(deps: DraftDeps, input: PlanInput, over: string | undefined): Promise<Plan> {
  const { arrivals, plan } = await draftFiles(deps, input);
  const keys = packingKeys(input.pipeline, input.runId);
  for (const [part, bytes] of arrivals.parts().entries())
    if (part < plan.arrivalParts) await deps.store.put(keys.planArrivals(plan.digest, part), bytes);
  return commitPlan(deps.store, plan, over);
}

async function makePlan(
  deps: DraftDeps,
  input: PlanInput,
  before: Exclude<CommittedPlan, { kind: 'current' }>,
): Promise<Plan> {
  const over = before.kind === 'outdated' ? before.etag : undefined;
  return isUnpacked(input.packing) ? makeFilesPlan(deps, input, over) : makeShardsPlan(deps, input, over);
}

async function makeShardsPlan(deps: DraftDeps, input: PlanInput, over: string | undefined): Promise<Plan> {
  const drafted = await draftPlan(deps, input);
  const { draft, listedAt, annotations, labels, held } = drafted;
  const copies = draft.balance?.copies ?? new Uint32Array();
  const assignment = assign(draft, copies, input);
  const prepare = input.packing.prepare && { engine: IMAGE_ENGINE };
  const digest = digestOf(input, drafted, over);
  const keys = packingKeys(input.pipeline, input.runId);
  const parts = draft.arrivals.parts();
  for (const [part, bytes] of parts.entries()) await deps.store.put(keys.planArrivals(digest, part), bytes);
  for (const { item, bytes } of itemLists(draft.arrivals, {
    assignment,
    samples: draft.samples,
    copies,
    labelOf: labels && ((sample) => labels.annotatedOf(sample)),
  }))
    await deps.store.put(keys.planList(digest, item), bytes);
  await deps.store.put(keys.planRanges(digest), drafted.listed);
  await writeHeld(deps.store, keys.planHeld(digest), held);
  if (drafted.compared !== undefined) await writeCompared(deps.store, input.pipeline, drafted.compared);
  const plan: Plan = {
    version: DOCUMENT_VERSION,
    pipeline: input.pipeline,
    runId: input.runId,
    digest,
    listedAt,
    shards: assignment.shards,
    samples: draft.samples,
    objects: draft.objects,
    bytes: draft.bytes,
    rejected: draft.rejected,
    ...changesOf(drafted),
    ...columnsIn(draft),
    sourceSchema: await sourceSchemaOf(deps.store, input.packing, draft),
    ...balanceOf(input.packing, draft),
    ...(prepare && { prepare }),
    ...(over !== undefined && { revision: digest.slice(0, 6) }),
    ...workersOf(shardCounts(assignment), input.packing, shardCountRules(input.packing, input.readers)),
    ...countsOf(assignment),
    arrivalParts: parts.length,
    dropped: [...assignment.dropped],
    ...(annotations && { annotations: await auditOf(deps.store, annotations, keys.planProblems(digest)) }),
    itemShards: [...assignment.itemShards],
  };
  return commitPlan(deps.store, plan, over);
}

const countsOf = ({ even, splits }: ShardAssignment): Pick<Plan, 'even' | 'splits'> => ({
  ...(even && { even: { ...even } }),
  ...(splits && { splits: [...splits] }),
});

/** Digest of everything that the lists follow from. @param over ETag of the replaced plan, which has other lists */
const digestOf = (
  input: PlanInput,
  { draft, annotations, lists, held }: Drafted,
  over: string | undefined,
): string => {
  const engine = input.packing.prepare && IMAGE_ENGINE;
  return draft.digest(
    [
      JSON.stringify(input.packing),
      annotations?.version,
      lists?.version,
      engine,
      readersText(input),
      over,
      heldText(held),
    ].join(''),
  );
};

const readersText = ({ readers }: PlanInput): string =>
  readers === undefined ? '' : JSON.stringify(readers);

const balanceOf = ({ balance: mode }: PackingSettings, { balance }: DraftPlan): Pick<Plan, 'balance'> =>
  mode === undefined || balance === undefined ? {} : { balance: { mode, classes: { ...balance.classes } } };

async function auditOf(
  store: BlobStore,
  annotations: Annotations,
  list: string,
): Promise<Plan['annotations']> {
  const { rows, byProblem, unknown, problems } = await annotations.audit();
  const common = { version: annotations.version, rows, byProblem: { ...byProblem }, unknown };
  if (problems === undefined) return common;
  await store.put(list, problems, { contentType: 'application/gzip' });
  return { ...common, problems: { list, sha256: hash('sha256', decompress(problems)) } };
}

const columnsIn = ({ learnt, sampleColumns }: DraftPlan): Pick<Plan, 'learnt' | 'columns'> => ({
  ...(learnt && { learnt: [...learnt] }),
  ...(sampleColumns && { columns: { ...sampleColumns } }),
});

const changesOf = ({ draft: { grouper }, changes, held, retractions }: Drafted): Partial<Plan> => ({
  ...(changes > 0 && { changes }),
  ...(held.size > 0 && { held: held.size }),
  ...(retractions.length > 0 && { retractions: retractions.length }),
  innerSuffixes: grouper.naming.innerSuffixes && [...grouper.naming.innerSuffixes],
  dots: grouper.dots,
});

/**
 * Writes the items of the distributed Map. They follow from the committed plan, so writing them again changes
 * nothing.
 */
async function writeItems(store: BlobStore, plan: Plan): Promise<void> {
  const items = Array.from({ length: plan.itemShards.length - 1 }, (_, item) => ({
    item,
    plan: plan.digest,
  }));
  await store.put(packingKeys(plan.pipeline, plan.runId).planItems, Buffer.from(JSON.stringify(items)), {
    contentType: 'application/json',
  });
}

export interface PackingPreview {
  /** Arrivals that no generation holds yet, and that are not rejected by their names. */
  readonly files: number;
  readonly bytes: number;
  readonly samples: number;
  /** By their names and sizes alone; more may follow when they are read. */
  readonly rejected: number;
  readonly shards: number;
  /** Invocations that pack them. */
  readonly items: number;
}

/** There are more arrivals than one call can look through. */
export class TooManyArrivalsError extends Error {
  override readonly name = 'TooManyArrivalsError';
}

/** @throws TooManyArrivalsError with more than `mostArrivals` in `incoming/` */
export async function previewPlan(
  deps: DraftDeps,
  input: PlanInput,
  mostArrivals: number,
): Promise<PackingPreview> {
  let listed = 0;
  const onListed = (objects: number): void => {
    listed += objects;
    if (listed > mostArrivals)
      throw new TooManyArrivalsError(
        `incoming/ of ${input.pipeline} holds more than ${mostArrivals} objects`,
      );
  };
  if (isUnpacked(input.packing)) {
    const { plan } = await draftFiles({ ...deps, onListed }, input);
    const { samples, objects, bytes, rejected } = plan;
    return { files: objects, bytes, samples, rejected, shards: 0, items: 0 };
  }
  const { draft } = await draftPlan({ ...deps, onListed }, input);
  const { shards, itemShards } = assign(draft, draft.balance?.copies ?? new Uint32Array(), input);
  return {
    files: draft.objects - draft.removed,
    bytes: draft.bytes,
    samples: draft.samples,
    rejected: draft.rejected - draft.removed,
    shards,
    items: itemShards.length - 1,
  };
}

/** Each file counts as one sample, and all as equally large. */
export function previewOfSize(
  { files, bytes }: { readonly files: number; readonly bytes: number },
  input: Pick<PlanInput, 'packing' | 'readers' | 'runId'>,
): PackingPreview {
  if (isUnpacked(input.packing)) return { files, bytes, samples: files, rejected: 0, shards: 0, items: 0 };
  const each = files === 0 ? 0 : bytes / files;
  const { split } = input.packing;
  // Each split has shards of its own.
  const counts =
    split === undefined || isGivenSplit(split)
      ? [files]
      : partsOf(split).map((name) => Math.round(files * Number(split[name] ?? 0)));
  const assigned = counts.map((count) =>
    assignSamples({ count, bytesOf: () => each, objectsOf: () => 1 }, assignmentLimits(input)),
  );
  const shards = assigned.reduce((sum, one) => sum + one.shards, 0);
  const items = assigned.reduce((sum, one) => sum + one.itemShards.length - 1, 0);
  return { files, bytes, samples: files, rejected: 0, shards, items };
}
