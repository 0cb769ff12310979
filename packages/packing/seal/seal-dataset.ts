/** SealDataset: audits the run's arrivals, then writes the manifest, which makes the generation exist. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { isUnpacked } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { keysRetracted, readRetractions } from '../arrivals/retractions.ts';
import { type BlobStore, joinChunks } from '../documents/blob-store.ts';
import { outdatedEngine, readPlan } from '../documents/committed-plan.ts';
import {
  DOCUMENT_VERSION,
  type Dots,
  type MemberLine,
  type Plan,
  type ShardRecord,
} from '../documents/documents.ts';
import { readHeld } from '../documents/held-samples.ts';
import { imageRuleOf } from '../documents/image-preparation.ts';
import { holdsNothing, type LeftArrivals, type Manifest } from '../documents/manifest.ts';
import { type PackingKeys, packingKeys } from '../documents/packing-keys.ts';
import { readSealedManifest } from '../documents/sealed-arrivals.ts';
import { addSealed, blobVersions, newestVersion, waitingGenerations } from '../documents/versions.ts';
import { formatOf } from '../formats/formats.ts';
import { preparedTotals } from '../shard/member-list.ts';
import { evenCountOf, SplitCheck, sealedSplits } from '../splits/split-rule.ts';
import { AuditError, auditArrivals, checkSplits, type MemberObserver } from './audit.ts';
import {
  type CommittedShard,
  readCommittedShards,
  ShardMissingError,
  sealedShards,
} from './committed-shards.ts';
import { ClassCounter, ContentFacts, labelNumbers } from './content-facts.ts';
import { checkReadable, Exclusions } from './exclusions.ts';
import {
  type IndexFile,
  type IndexFileWriter,
  shardIndexWriter,
  writeDatasetIndexes,
  writeIndexFile,
} from './index-files.ts';
import { filesManifest, type SealFilesInput } from './seal-files.ts';
import { ShardExtent } from './shard-extent.ts';

export interface SealDeps {
  readonly store: BlobStore;
  /** Reads some shards back before the manifest is written. @returns the problems */
  readonly spotCheck?: ((store: BlobStore, manifest: Manifest) => Promise<readonly string[]>) | undefined;
}

export type SealInput = SealFilesInput;

export interface SealResult {
  /** `unchanged`: the dataset holds the bytes of every arrival that is neither ignored nor retracted. */
  readonly status: 'sealed' | 'alreadySealed' | 'nothingToTrain' | 'unchanged';
  readonly generation: string;
  /** No shard was written: the samples are the files themselves. */
  readonly isUnpacked: boolean;
  readonly shards: number;
  readonly samples: number;
  readonly bytes: number;
  /** Without unchanged, removed and ignored ones, and without archives whose files are arrivals. */
  readonly rejected: number;
  readonly rejections: Rejections;
  /** Arrivals whose bytes the dataset holds under another ETag. */
  readonly unchanged: number;
  /** Packed objects that their owner has deleted. */
  readonly removed: number;
  /** Files that systems and tools leave. */
  readonly ignored: number;
  /** Arrivals that a later run packs. */
  readonly left: Left;
  /** Columns that samples must have, as learnt from the first generation. */
  readonly learnt?: readonly string[] | undefined;
  /** Keys with dots inside their names. */
  readonly dots?: Dots | undefined;
  /** Rows of annotations that name no object, and the first of them as a key under incoming/. */
  readonly unknownRows?: { readonly rows: number; readonly of: number; readonly example: string } | undefined;
  /** In the dataset's newest version. */
  readonly generations: number;
  /** Sealed generations that only a compaction adds, because they replace samples, or that it may have to thin. */
  readonly waiting: number;
}

/** Rejected arrivals counted by reason, and a few examples. It is small, because the state machine carries it. */
interface Rejections {
  readonly byReason: Readonly<Record<string, number>>;
  readonly examples: readonly { readonly key: string; readonly reason: string }[];
}

interface Left extends Omit<LeftArrivals, 'byCode'> {
  readonly objects: number;
  readonly byCode?: Readonly<Record<string, number>> | undefined;
}

const EXAMPLES_REPORTED = 5;
const NOTHING_LEFT: Left = { objects: 0, byReason: {}, examples: [] };

const leftOf = ({ arrivals: { deferred: objects }, left }: Manifest): Left =>
  left === undefined
    ? { ...NOTHING_LEFT, objects }
    : { objects, ...left, examples: left.examples.slice(0, EXAMPLES_REPORTED) };

export async function sealDataset(deps: SealDeps, input: SealInput): Promise<SealResult> {
  const keys = packingKeys(input.pipeline, input.runId);
  const before = await readSealedManifest(deps.store, input.pipeline, input.runId);
  const manifest = before ?? (await seal(deps, input, keys));
  if (manifest === undefined) return emptyResult(input.runId);
  const shards = manifest.shards.length;
  const versions = blobVersions(deps.store);
  const isEmpty = holdsNothing(manifest);
  const newest = await (isEmpty ? newestVersion : addSealed)(versions, input.pipeline);
  const waiting = await waitingGenerations(versions, input.pipeline, newest);
  // A retraction that came beside the seal may not have seen this generation, but then it is seen here.
  const { length: retractions } = await readRetractions(deps.store, input.pipeline);
  const isOvertaken = shards > 0 && retractions > (manifest.retractions ?? 0);
  const sealed = before === undefined ? 'sealed' : 'alreadySealed';
  return {
    status: isEmpty ? (emptyStatus(rejectedOf(manifest)) ?? sealed) : sealed,
    generation: input.runId,
    isUnpacked: isUnpacked(manifest),
    shards,
    samples: manifest.samples,
    bytes: manifest.bytes,
    ...rejectedOf(manifest),
    left: leftOf(manifest),
    learnt: manifest.learnt,
    dots: manifest.dots,
    unknownRows: unknownRowsOf(manifest),
    generations: newest?.generations.length ?? 0,
    waiting: waiting.length || Number(isOvertaken),
  };
}

function unknownRowsOf({ annotations }: Manifest): SealResult['unknownRows'] {
  const rows = annotations?.byProblem['unknownKey'] ?? 0;
  if (annotations === undefined || rows === 0) return undefined;
  return { rows, of: annotations.rows, example: annotations.unknown ?? '' };
}

function rejectedOf({
  arrivals,
  rejections,
}: Manifest): Pick<SealResult, 'rejected' | 'rejections' | 'unchanged' | 'removed' | 'ignored'> {
  const { unchanged = 0, removed = 0, ignored = 0, unpacked = 0, ...byReason } = rejections.byReason;
  const examples = rejections.examples.filter(({ reason }) => byReason[reason] !== undefined);
  return {
    rejected: arrivals.rejected - unchanged - removed - ignored - unpacked,
    rejections: {
      byReason,
      examples: examples.slice(0, EXAMPLES_REPORTED).map(({ key, reason }) => ({ key, reason })),
    },
    unchanged,
    removed,
    ignored,
  };
}

/** Of a generation without shards. Undefined where it removes samples: the compaction makes a version without them. */
function emptyStatus({
  rejected,
  rejections,
  unchanged,
  removed,
  ignored,
}: Pick<SealResult, 'rejected' | 'rejections' | 'unchanged' | 'removed' | 'ignored'>):
  | SealResult['status']
  | undefined {
  if (removed > 0) return undefined;
  const { retracted = 0 } = rejections.byReason;
  const isNoNews = rejected === retracted && unchanged + ignored + retracted > 0;
  return isNoNews ? 'unchanged' : 'nothingToTrain';
}

const emptyResult = (generation: string): SealResult => ({
  status: 'nothingToTrain',
  generation,
  isUnpacked: false,
  shards: 0,
  samples: 0,
  bytes: 0,
  rejected: 0,
  rejections: { byReason: {}, examples: [] },
  unchanged: 0,
  removed: 0,
  ignored: 0,
  left: NOTHING_LEFT,
  generations: 0,
  waiting: 0,
});

async function seal(deps: SealDeps, input: SealInput, keys: PackingKeys): Promise<Manifest | undefined> {
  const { store } = deps;
  const plan = await readPlan(store, input);
  if (plan === undefined) throw new Error(`${input.runId} has no plan: run PlanShards first`);
  if (plan.objects === 0) return undefined;
  const manifest = isUnpacked(input.packing)
    ? filesManifest(store, input, plan)
    : shardsManifest(store, input, plan);
  return writeManifest(deps, keys, await manifest);
}

/** Reads every record of the packed shards, and accounts for each arrival of the plan. */
async function shardsManifest(store: BlobStore, input: SealInput, plan: Plan): Promise<Manifest> {
  const keys = packingKeys(input.pipeline, input.runId);
  const exclusions = new Exclusions(plan.samples);
  const records = await recordsOf(store, plan, { keys, exclusions });
  checkReadable(plan, exclusions.unreadable, input.packing);
  checkEven(plan, records);
  const kept = records.filter((record) => record.samples > 0);
  const shards = await sealedShards(store, kept);
  const classes = new ClassCounter(plan.splits !== undefined);
  const content = new ContentFacts();
  const retracted = keysRetracted(await readRetractions(store, input.pipeline), plan.retractions);
  const overtaken = new Set<string>();
  const incoming = bucketKeys.incoming(input.pipeline);
  const splitCheck = new SplitCheck(
    { ...plan, split: input.packing.split, join: input.packing.join },
    incoming,
  );
  const packed = { format: input.packing.format, ...compressionOf(input.packing) };
  const observer = observerOf(shards, {
    classes,
    content,
    splitCheck,
    seeKey: (key) => retracted.has(key) && overtaken.add(key),
    extentOf: (shard) => new ShardExtent(packed, shard),
    indexOf: (shard) => shardIndexWriter(input.packing, shard),
    write: (file) => writeIndexFile(store, keys, file),
  });
  const accounted = { keys, plan, records, exclusions, held: await readHeld(store, plan), observer };
  const { repeated, ...accounts } = await auditArrivals(store, accounted);
  checkSplits(input.runId, splitCheck);
  const { sourceSchema, revision } = plan;
  const sealed = { generation: input.runId, settings: input.packing, sourceSchema, shards, revision };
  return {
    version: DOCUMENT_VERSION,
    pipeline: input.pipeline,
    generation: input.runId,
    format: input.packing.format,
    ...rulesOf(input.packing),
    join: input.packing.join,
    schema: formatOf(input.packing).schema(input.packing, plan.sourceSchema),
    ...compressionOf(input.packing),
    seed: input.packing.seed,
    plan: plan.digest,
    listedAt: plan.listedAt,
    samples: sum(kept, (record) => record.samples),
    members: sum(kept, (record) => record.members),
    repeated,
    bytes: sum(kept, (record) => record.bytes),
    shards,
    ...(await writeDatasetIndexes(store, keys, sealed)),
    ...accounts,
    ...classes.sealedBalance(plan),
    ...content.sealed,
    ...(await labelNumbers(store, { pipeline: input.pipeline, generation: input.runId }, classes)),
    ...keptOf(plan, overtaken.size),
    ...splitsOf(input.packing, plan, shards),
    ...preparedTotals(kept),
    ...(plan.annotations && { annotations: await sealAnnotations(store, keys, plan.annotations) }),
  };
}

/** @throws AuditError if a shard that was read back is damaged */
async function writeManifest(
  { store, spotCheck }: SealDeps,
  keys: PackingKeys,
  manifest: Manifest,
): Promise<Manifest | undefined> {
  const { pipeline, generation } = manifest;
  const [problem] = (await spotCheck?.(store, manifest)) ?? [];
  if (problem !== undefined) throw new AuditError(generation, `a shard was read back, and ${problem}`);
  const body = Buffer.from(`${JSON.stringify(manifest, undefined, 1)}\n`);
  const key = holdsNothing(manifest) ? keys.rejectionsOnly : keys.manifest;
  const put = await store.put(key, body, { only: 'absent', contentType: 'application/json' });
  return put.kind === 'written' ? manifest : readSealedManifest(store, pipeline, generation);
}

/** What of the declaration another generation must have in common. */
function rulesOf(packing: PackingSettings): Pick<Manifest, 'labelRule' | 'imageRule'> {
  const { label, labelPattern, labelLevel } = packing;
  return { labelRule: { label, labelPattern, labelLevel }, imageRule: imageRuleOf(packing) };
}

/** What the manifest keeps of the plan as it is. */
const keptOf = (
  { revision, workers, even, changes = 0, innerSuffixes, dots, retractions, columns, learnt }: Plan,
  overtaken: number,
): Partial<Manifest> => ({
  revision,
  workers,
  even,
  innerSuffixes,
  dots,
  retractions,
  columns,
  learnt,
  ...(changes + overtaken > 0 && { changes: changes + overtaken }),
});

const splitsOf = (
  { split }: PackingSettings,
  { splits }: Plan,
  shards: Manifest['shards'],
): Pick<Manifest, 'split' | 'splits'> =>
  split === undefined || splits === undefined ? {} : { split, splits: sealedSplits(splits, shards) };

const compressionOf = (packing: PackingSettings): Pick<Manifest, 'compression'> =>
  formatOf(packing).isGzipped?.(packing) === true ? { compression: 'gzip' } : {};

interface Observing {
  readonly classes: ClassCounter;
  readonly content: ContentFacts;
  readonly splitCheck: SplitCheck;
  readonly seeKey: (key: string) => void;
  readonly extentOf: (shard: Manifest['shards'][number]) => ShardExtent;
  readonly indexOf: (shard: Manifest['shards'][number]) => IndexFileWriter | undefined;
  readonly write: (file: IndexFile | undefined) => Promise<void>;
}

/** Counts classes and bytes, and makes the shards' indexes, while the audit reads the member lists. */
const observerOf = (
  shards: Manifest['shards'],
  { classes, content, splitCheck, seeKey, extentOf, indexOf, write }: Observing,
) => {
  const byName = new Map(shards.map((shard) => [shard.name, shard]));
  return ({ name }: Pick<ShardRecord, 'name'>): MemberObserver => {
    const shard = byName.get(name);
    const index = shard && indexOf(shard);
    const extent = shard && extentOf(shard);
    const see = (line: MemberLine): void => {
      extent?.add(line);
      classes.add(line, name);
      splitCheck.add(name, line);
      content.add(line);
      if (line.key !== undefined) seeKey(line.key);
      index?.add(line);
    };
    const end = (): Promise<void> => {
      extent?.finish();
      return write(index?.file());
    };
    return { see, end };
  };
};

async function recordsOf(
  store: BlobStore,
  plan: Plan,
  { keys, exclusions }: { readonly keys: PackingKeys; readonly exclusions: Exclusions },
): Promise<CommittedShard[]> {
  const { runId, shards, digest } = plan;
  const recordKey = (shard: number): string => keys.shardRecord(digest, shard);
  try {
    return await readCommittedShards(store, {
      runId,
      shards,
      recordKey,
      exclude: (one) => exclusions.add(one),
    });
  } catch (error: unknown) {
    // No worker of this release can pack what is missing.
    const outdated = error instanceof ShardMissingError ? outdatedEngine(runId, plan) : undefined;
    throw outdated ?? error;
  }
}

/** Workers that step together wait forever for one that has a sample less. */
function checkEven(plan: Plan, records: readonly CommittedShard[]): void {
  for (const { shard, samples } of records) {
    const even = evenCountOf(plan, shard);
    if (even === undefined || samples === 0 || samples === even) continue;
    throw new AuditError(plan.runId, `shard ${shard} holds ${samples} samples, not ${even}`);
  }
}

const sum = <T>(all: readonly T[], of: (one: T) => number): number =>
  all.reduce((total, one) => total + of(one), 0);

/** Copies the list of bad rows into the generation. */
async function sealAnnotations(
  store: BlobStore,
  keys: PackingKeys,
  annotations: NonNullable<Plan['annotations']>,
): Promise<Manifest['annotations']> {
  const { problems } = annotations;
  if (problems === undefined) return annotations;
  const found = await store.get(problems.list);
  if (found.kind !== 'found')
    throw new Error(`${problems.list} is gone: remove the run's plan folder and pack again`);
  const list = keys.annotationProblems;
  await store.put(`${keys.generation}${list}`, joinChunks(found.chunks), { contentType: 'application/gzip' });
  return { ...annotations, problems: { list, sha256: problems.sha256 } };
}
