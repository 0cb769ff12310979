/** Audits the joined generation against its inputs, seals it, and replaces the inputs with it. */

import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { type BlobStore, joinChunks } from '../documents/blob-store.ts';
import { DOCUMENT_VERSION, DocumentError, type PreparedTotals } from '../documents/documents.ts';
import type { Manifest } from '../documents/manifest.ts';
import { type PackingKeys, packingKeys, shardNumberOf } from '../documents/packing-keys.ts';
import { ManifestError, manifestsOf, readSealedManifest } from '../documents/sealed-arrivals.ts';
import { listingsOf } from '../documents/sealed-lines.ts';
import { batchOf, blobVersions, changeDataset } from '../documents/versions.ts';
import { sumOfColumns } from '../plan/waiting-samples.ts';
import { ArrivalsWriter, AuditError } from '../seal/audit.ts';
import { readCommittedShards, sealedShards } from '../seal/committed-shards.ts';
import { type ClassCounter, newestLabels } from '../seal/content-facts.ts';
import { writeDatasetIndexes } from '../seal/index-files.ts';
import { preparedTotals } from '../shard/member-list.ts';
import { sealedSplits } from '../splits/split-rule.ts';
import { spotCheck } from '../verify/verify.ts';
import { firstWithShards, manifestsOfPlan } from './compact-shards.ts';
import { compareMembers } from './compare-members.ts';
import { type GenerationArrivals, mergeArrivals } from './merge-arrivals.ts';
import { type CompactionPlan, readCompactionPlan } from './plan-compaction.ts';
import type { LeftOutArrival } from './superseded-samples.ts';

export interface SealCompactionInput {
  readonly pipeline: string;
  readonly generation: string;
  readonly packing: PackingSettings;
}

export interface CompactionResult {
  /**
   * `superseded`: another compaction was faster, or an input was pruned. The dataset does not hold this generation.
   * `drawn`: one run reads it.
   */
  readonly status: 'compacted' | 'superseded' | 'drawn';
  readonly generation: string;
  readonly of: readonly string[];
  readonly shards: number;
  readonly samples: number;
  readonly bytes: number;
}

export async function sealCompaction(
  store: BlobStore,
  input: SealCompactionInput,
): Promise<CompactionResult> {
  const { pipeline, generation } = input;
  const sealed = await readSealedManifest(store, pipeline, generation);
  const manifest = sealed ?? (await seal(store, input));
  const of = manifest.compacted?.of ?? [];
  const status = await joinDataset(store, manifest, of);
  const { samples, bytes } = manifest;
  return { status, generation, of, shards: manifest.shards.length, samples, bytes };
}

async function joinDataset(
  store: BlobStore,
  manifest: Manifest,
  of: readonly string[],
): Promise<CompactionResult['status']> {
  if (manifest.drawn !== undefined) return 'drawn';
  return (await replaceInputs(store, manifest, of)) ? 'compacted' : 'superseded';
}

/** Replaces the inputs with one conditional write. Does nothing if an input is no longer in the dataset. */
async function replaceInputs(store: BlobStore, manifest: Manifest, of: readonly string[]): Promise<boolean> {
  const { pipeline, generation } = manifest;
  const newest = await changeDataset(blobVersions(store), pipeline, (version) => {
    // There is none while all that was sealed corrects what earlier runs rejected.
    const { generations = [], added = {}, replaced = [] } = version ?? {};
    if (added[generation] !== undefined) return undefined;
    const isPresent = (name: string): boolean =>
      generations.includes(name) || (added[name] === undefined && !replaced.includes(name));
    return of.every(isPresent) ? { kind: 'compacted', generation, replaced: [...of] } : undefined;
  });
  return newest?.added[generation] !== undefined;
}

async function seal(
  store: BlobStore,
  { pipeline, generation, packing }: SealCompactionInput,
): Promise<Manifest> {
  const plan = await readCompactionPlan(store, pipeline, generation);
  const manifests = await manifestsOfPlan(store, plan);
  const keys = packingKeys(pipeline, generation);
  const recordKey = (shard: number): string => keys.shardRecord(plan.digest, shard);
  const records = await readCommittedShards(store, {
    runId: generation,
    shards: plan.shards.length,
    recordKey,
  });
  const shards = await sealedShards(store, records);
  const { repeated, images, content, classes, leftOut } = await compareMembers(store, {
    plan,
    manifests,
    keys,
    records,
    shards,
    packing,
  });
  const arrivals = await sealArrivals(store, keys, { plan, manifests, leftOut });
  const first = firstWithShards(manifests);
  if (first === undefined) throw new AuditError(generation, 'none of its inputs has a shard');
  const sourceSchema = { columns: first.schema.columns ?? [] };
  const manifest: Manifest = {
    version: DOCUMENT_VERSION,
    pipeline,
    generation,
    format: packing.format,
    schema: first.schema,
    ...joinedOf(plan, manifests),
    ...(first.compression && { compression: first.compression }),
    seed: packing.seed,
    plan: plan.digest,
    listedAt: lastListing(manifests),
    samples: sum(records, ({ samples }) => samples),
    members: sum(records, ({ members }) => members),
    repeated,
    bytes: sum(records, ({ bytes }) => bytes),
    shards,
    ...(await writeDatasetIndexes(store, keys, { generation, settings: packing, sourceSchema, shards })),
    ...arrivals,
    ...columnsOf(manifests),
    ...workersOf(shards, plan, manifests),
    ...balanceOf(plan, manifests, classes),
    ...content.sealed,
    ...newestLabels(manifests),
    ...preparedIn(manifests, images),
    ...(plan.retractions !== undefined && { retractions: plan.retractions }),
    ...(plan.even && { even: plan.even }),
    ...(plan.splits && { split: packing.split, splits: sealedSplits(plan.splits, shards) }),
    ...(await annotationsOf(store, keys, manifests)),
  };
  await readBack(store, manifest);
  const body = Buffer.from(`${JSON.stringify(manifest, undefined, 1)}\n`);
  await store.put(keys.manifest, body, { only: 'absent', contentType: 'application/json' });
  return (await readSealedManifest(store, pipeline, generation)) ?? manifest;
}

/** @throws AuditError if a shard that is read back is damaged */
async function readBack(store: BlobStore, manifest: Manifest): Promise<void> {
  const [problem] = await spotCheck(store, manifest);
  if (problem !== undefined)
    throw new AuditError(manifest.generation, `a shard was read back, and ${problem}`);
}

const lastListing = (joined: readonly Manifest[]): string =>
  joined
    .map(({ listedAt }) => listedAt)
    .sort()
    .at(-1) ?? '';

/** The number of workers of all inputs, if it is the same and the new shards of each split divide among them. */
function workersOf(
  shards: Manifest['shards'],
  { splits }: CompactionPlan,
  joined: readonly Manifest[],
): Pick<Manifest, 'workers'> {
  const counts =
    splits === undefined ? [shards.length] : sealedSplits(splits, shards).map((split) => split.shards);
  const all = new Set(joined.filter((one) => one.shards.length > 0).map(({ workers = 1 }) => workers));
  const [workers = 1] = all;
  return all.size === 1 && workers > 1 && counts.every((count) => count % workers === 0) ? { workers } : {};
}

function columnsOf(manifests: readonly Manifest[]): Partial<Manifest> {
  const learnt = manifests.find((one) => one.learnt !== undefined)?.learnt;
  return {
    columns: sumOfColumns(manifests.map(({ columns }) => columns)),
    innerSuffixes: firstWithShards(manifests)?.innerSuffixes,
    join: firstWithShards(manifests)?.join,
    labelRule: manifests.find(({ labelRule }) => labelRule !== undefined)?.labelRule,
    imageRule: manifests.find(({ imageRule }) => imageRule !== undefined)?.imageRule,
    ...(learnt && { learnt }),
  };
}

const sum = <T>(all: readonly T[], of: (one: T) => number): number =>
  all.reduce((total, one) => total + of(one), 0);

/** The prepared images of the inputs that are still there. */
function preparedIn(
  manifests: readonly Manifest[],
  images: Omit<PreparedTotals, 'by'>,
): Pick<Manifest, 'prepared'> {
  const { prepared } = preparedTotals(manifests);
  return prepared === undefined ? {} : { prepared: { by: prepared.by, ...images } };
}

async function sealArrivals(
  store: BlobStore,
  keys: PackingKeys,
  {
    plan,
    manifests,
    leftOut,
  }: {
    readonly plan: CompactionPlan;
    readonly manifests: readonly Manifest[];
    readonly leftOut: readonly ReadonlyMap<string, LeftOutArrival>[];
  },
): Promise<Pick<Manifest, 'arrivals' | 'rejections'>> {
  const all = manifests.map((manifest, input): GenerationArrivals & { shardOf: Map<number, number> } => ({
    manifest,
    shardOf: new Map(),
    leftOut: leftOut[input] ?? new Map(),
  }));
  for (const [shard, some] of plan.shards.entries())
    for (const [input, number] of some) {
      const one = all[input];
      const old = one?.manifest.shards[number];
      if (one !== undefined && old !== undefined) one.shardOf.set(shardNumberOf(old.name), shard);
    }
  const writer = new ArrivalsWriter(store, keys);
  if (plan.drawn !== undefined) return writer.finish(0);
  const newest = newestAnnotated(manifests)?.annotations?.version;
  const byAge = all.toSorted((a, b) => batchOf(a.manifest.generation) - batchOf(b.manifest.generation));
  return writer.finish(
    await mergeArrivals(store, writer, { all: byAge, newest, listings: listingsIn(manifests) }),
  );
}

const joinedOf = (
  { of, numbers, drawn }: CompactionPlan,
  manifests: readonly Manifest[],
): Pick<Manifest, 'compacted' | 'drawn'> => ({
  compacted: { of: of.map(({ generation }) => generation), numbers, listings: listingsIn(manifests) },
  ...(drawn && { drawn }),
});

const listingsIn = (manifests: readonly Manifest[]): string[] =>
  [...new Set(manifests.flatMap(listingsOf))].sort();

/**
 * Of a joined generation whose manifest is gone, as that had them: its lines refer to them.
 * @returns undefined if the plan or one of the inputs is gone or damaged too
 */
export async function plannedListings(
  store: BlobStore,
  pipeline: string,
  generation: string,
): Promise<readonly string[] | undefined> {
  if ((await store.head(packingKeys(pipeline, generation).planCommit)) === undefined) return undefined;
  try {
    const { of } = await readCompactionPlan(store, pipeline, generation);
    const names = of.map((input) => input.generation);
    const manifests = await manifestsOf(store, pipeline, names);
    return manifests.length === names.length ? listingsIn(manifests) : undefined;
  } catch (error: unknown) {
    if (error instanceof DocumentError || error instanceof ManifestError) return undefined;
    throw error;
  }
}

const newestAnnotated = (manifests: readonly Manifest[]): Manifest | undefined =>
  manifests
    .filter(({ annotations }) => annotations !== undefined)
    .toSorted((a, b) => batchOf(a.generation) - batchOf(b.generation))
    .at(-1);

/** Sums the classes of all inputs. Empty if some inputs were balanced and others not. */
function balanceOf(
  { classes: again }: CompactionPlan,
  manifests: readonly Manifest[],
  counted: ClassCounter,
): Pick<Manifest, 'balance'> {
  if (again !== undefined) return counted.sealedBalance({ balance: { mode: 'over', classes: again } });
  const balances = manifests.filter(({ shards }) => shards.length > 0).map(({ balance }) => balance);
  const mode = balances[0]?.mode;
  if (mode === undefined || balances.some((balance) => balance?.mode !== mode)) return {};
  const classes = new Map<string, { samples: number; planned: number }>();
  for (const [name, { samples, planned }] of balances.flatMap((one) => Object.entries(one?.classes ?? {}))) {
    const before = classes.get(name) ?? { samples: 0, planned: 0 };
    classes.set(name, { samples: before.samples + samples, planned: before.planned + planned });
  }
  return { balance: { mode, classes: Object.fromEntries(classes) } };
}

/** The newest annotations among the inputs. Copies their list of problems. */
async function annotationsOf(
  store: BlobStore,
  keys: PackingKeys,
  manifests: readonly Manifest[],
): Promise<Pick<Manifest, 'annotations'>> {
  const newest = newestAnnotated(manifests);
  if (newest?.annotations === undefined) return {};
  const { version, problems } = newest.annotations;
  const isAnyOlder = manifests.some(
    ({ annotations: one }) => one !== undefined && (one.version !== version || one.older === true),
  );
  const annotations = { ...newest.annotations, ...(isAnyOlder && { older: true as const }) };
  if (problems === undefined) return { annotations };
  const from = packingKeys(newest.pipeline, newest.generation);
  const found = await store.get(`${from.generation}${problems.list}`);
  if (found.kind !== 'found') throw new AuditError(keys.generation, `${problems.list} is gone`);
  await store.put(`${keys.generation}${problems.list}`, joinChunks(found.chunks), {
    contentType: 'application/gzip',
  });
  return { annotations };
}
