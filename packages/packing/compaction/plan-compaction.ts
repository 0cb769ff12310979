/**
 * Makes one immutable plan for a compaction. Its inputs name it, so two compactors of the same generations share it.
 */

import { hash } from 'node:crypto';
import { bucketKeys, compactedName, drawnName } from '@tidewheel/contract/bucket-keys.ts';
import {
  datasetSettings,
  type OnChange,
  type PackingSettings,
  type Pipeline,
} from '@tidewheel/declaration/pipeline.ts';
import { kindOf } from '@tidewheel/kit/stored.ts';
import * as z from 'zod';
import { noteRetraction, readRetractions } from '../arrivals/retractions.ts';
import { type BlobStore, readText } from '../documents/blob-store.ts';
import {
  balanceSchema,
  DOCUMENT_VERSION,
  evenSchema,
  type MemberLine,
  plannedSplitSchema,
  readDocument,
} from '../documents/documents.ts';
import { type DrawnSamples, drawnSchema, type Manifest } from '../documents/manifest.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { manifestsOf } from '../documents/sealed-arrivals.ts';
import { memberLines } from '../documents/sealed-lines.ts';
import type { LikelyReaders } from '../documents/shard-count.ts';
import { batchOf, blobVersions, type DatasetVersion, newestVersion } from '../documents/versions.ts';
import { type CopyChanges, NO_CHANGES } from './balance-again.ts';
import { type CompactionChoice, chooseInputs, fewestToJoin } from './choose-generations.ts';
import { chooseReplacing, withoutReplaced } from './choose-replacing.ts';
import { AllBut, LEFT_OUT, type LeftOutSamples } from './superseded-samples.ts';

const compactionPlanSchema = z.object({
  version: z.literal(DOCUMENT_VERSION),
  pipeline: z.string(),
  generation: z.string(),
  digest: z.string(),
  /** The inputs, oldest first. `base` is added to the numbers of their samples. */
  of: z.array(
    z.object({
      generation: z.string(),
      base: z.number().int(),
      /** Numbers of samples that are not joined, and why. */
      leftOut: z.array(z.tuple([z.number().int(), z.enum(LEFT_OUT)])).optional(),
      /** Numbers of the only samples that are joined. */
      kept: z.array(z.int()).optional(),
      /** Numbers of samples, and how many more copies each gets. */
      added: z.array(z.tuple([z.number().int(), z.number().int()])).optional(),
      /** Copies that are not joined: index of the shard, and the numbers of sample and copy. */
      dropped: z.array(z.tuple([z.number().int(), z.number().int(), z.number().int()])).optional(),
    }),
  ),
  drawn: drawnSchema.optional(),
  /** Above the numbers of all samples. */
  numbers: z.number().int(),
  /** The number of retractions that its samples follow. */
  retractions: z.int().optional(),
  /** The old shards of each new one, as indexes into `of` and into the input's manifest. */
  shards: z.array(z.array(z.tuple([z.number().int(), z.number().int()]))),
  even: evenSchema.optional(),
  splits: z.array(plannedSplitSchema).optional(),
  /** Samples of each new shard, or of each shard of a split. Copies make up for what is left out. */
  samplesEach: z.union([z.number().int(), z.array(z.number().int())]).optional(),
  /** Copies in old shards are not joined either. New ones make the counts equal. */
  leavesCopies: z.literal(true).optional(),
  /** Samples of each class that train, if they are balanced again, and as planned with their copies. */
  classes: balanceSchema.shape.classes.optional(),
  /** First shard of each item and, last, the number of shards. */
  itemShards: z.array(z.number().int()),
});
export type CompactionPlan = z.infer<typeof compactionPlanSchema>;

export const compactionItemSchema = z.strictObject({
  item: z.number().int(),
  plan: z.string(),
  generation: z.string(),
});
export type CompactionItem = z.infer<typeof compactionItemSchema>;

export interface CompactionInput {
  readonly pipeline: string;
  readonly packing: PackingSettings;
  readonly readers?: LikelyReaders | undefined;
  readonly after: number | 'never';
  readonly everything?: boolean;
  /** By default `keep`. */
  readonly onChange?: OnChange;
  /** Keys that a person retracts now. Their samples are left out as a whole, of runs in progress too. */
  readonly retracted?: ReadonlySet<string> | undefined;
}

export interface CompactionPlanned {
  readonly status: 'planned' | 'nothingToCompact';
  readonly generation: string;
  readonly items: number;
  /** Key of the array of Map items. */
  readonly itemsKey: string;
}

export const NOTHING_TO_COMPACT: CompactionPlanned = {
  status: 'nothingToCompact',
  generation: '',
  items: 0,
  itemsKey: '',
};

/** When to compact after a seal. A pinned pipeline would gain nothing, because it trains on the pinned version. */
export function compactionWanted(
  dataset: Pipeline['dataset'],
): Required<Pick<CompactionInput, 'after' | 'onChange'>> {
  const { pin, compactAfter, onChange } = datasetSettings(dataset);
  return { after: pin === undefined ? compactAfter : 'never', onChange };
}

/** Whether there is anything to plan: most runs need no compaction, and begin training a function's call sooner. */
export function mayCompact(
  dataset: Pipeline['dataset'],
  { generations, waiting }: { readonly generations: number; readonly waiting: number },
): boolean {
  const { after } = compactionWanted(dataset);
  return waiting > 0 || (after !== 'never' && generations >= fewestToJoin(after));
}

/** Notes a retraction, chooses the inputs, and commits the plan, unless the same plan was committed before. */
export async function planCompaction(store: BlobStore, input: CompactionInput): Promise<CompactionPlanned> {
  const { pipeline, retracted } = input;
  if (retracted !== undefined) {
    const { generations = [] } = (await newestVersion(blobVersions(store), pipeline)) ?? {};
    // A refused retraction is not noted. Where no version has a sample, runs in progress may.
    const chosen = generations.length > 0 ? await chooseCompaction(store, input) : undefined;
    await noteRetraction(store, pipeline, [...retracted, ...(await siblingsIn(store, input, chosen))]);
  }
  const chosen = await chooseCompaction(store, { ...input, retracted: undefined });
  if (chosen === undefined) return NOTHING_TO_COMPACT;
  return commitCompaction(store, compactionPlan(input, chosen));
}

export async function commitCompaction(store: BlobStore, plan: CompactionPlan): Promise<CompactionPlanned> {
  const keys = packingKeys(plan.pipeline, plan.generation);
  await store.put(keys.planCommit, Buffer.from(JSON.stringify(plan)), {
    only: 'absent',
    contentType: 'application/json',
  });
  const items = itemsOf(plan);
  await store.put(keys.planItems, Buffer.from(JSON.stringify(items)), { contentType: 'application/json' });
  return { status: 'planned', generation: plan.generation, items: items.length, itemsKey: keys.planItems };
}

/** A run may have planned the rest of a retracted sample in another sample. Where all versions are kept, it is one. */
async function siblingsIn(
  store: BlobStore,
  { onChange }: CompactionInput,
  { inputs, leftOut }: Pick<CompactionChoice, 'inputs' | 'leftOut'> = { inputs: [] },
): Promise<string[]> {
  const keys = new Set<string>();
  for (const [index, one] of inputs.entries())
    for (const shard of onChange === 'replace' ? one.shards : [])
      for (const { key, sample } of await memberLines(
        store,
        packingKeys(one.pipeline, one.generation),
        shard,
      ))
        if (key !== undefined && leftOut?.[index]?.get(sample) === 'retracted') keys.add(key);
  return [...keys];
}

export const itemsOf = (plan: CompactionPlan): CompactionItem[] =>
  Array.from({ length: plan.itemShards.length - 1 }, (_, item) => ({
    item,
    plan: plan.digest,
    generation: plan.generation,
  }));

/** What would be joined now. Writes nothing. */
export async function chooseCompaction(
  store: BlobStore,
  input: CompactionInput,
): Promise<CompactionChoice | undefined> {
  const { pipeline, packing, readers, after, everything, onChange, retracted } = input;
  const noted = await readRetractions(store, pipeline);
  const newest = await newestVersion(blobVersions(store), pipeline);
  const retractions = retracted === undefined ? noted : [...noted, [...retracted]];
  const replacing = await chooseReplacing(store, { ...input, retractions }, newest);
  if (replacing !== undefined) return { ...replacing, retractions: retractions.length };
  if (after === 'never' || newest === undefined || newest.generations.length < 2) return undefined;
  const current = await manifestsOf(store, pipeline, newest.generations);
  const rules = { packing, readers, after, ...(everything !== undefined && { everything }) };
  if (chooseInputs(current, [], rules) === undefined) return undefined;
  const rejecting = await manifestsOf(store, pipeline, await withoutShards(store, pipeline, newest));
  const only = rejecting.filter(({ shards, pruned }) => shards.length === 0 && pruned !== true);
  const chosen = chooseInputs(current, only, rules);
  if (chosen === undefined) return undefined;
  const choice = onChange === 'replace' ? await withoutReplaced(store, chosen, rules) : chosen;
  return { ...choice, retractions: retractions.length };
}

/** Folders that no version names. Among them are the runs whose arrivals were all rejected. */
async function withoutShards(
  store: BlobStore,
  pipeline: string,
  newest: DatasetVersion,
): Promise<readonly string[]> {
  const folders = await blobVersions(store).folders(bucketKeys.dataset(pipeline));
  const known = new Set([...Object.keys(newest.added), ...newest.replaced]);
  return folders.filter((name) => Number.isFinite(batchOf(name)) && !known.has(name));
}

/** Above the numbers of the generation's samples, because each sample has an object. */
const numbersOf = ({ arrivals, compacted }: Manifest): number => compacted?.numbers ?? arrivals.objects;

/** What a run draws: of each input the numbers of the samples. */
interface Drawing {
  readonly drawn: DrawnSamples;
  readonly kept: readonly ReadonlySet<number>[];
}

export function compactionPlan(
  { pipeline, packing }: Pick<CompactionInput, 'pipeline' | 'packing'>,
  { inputs, assigned, leftOut, leavesCopies, balanced, retractions = 0 }: CompactionChoice,
  drawing?: Drawing,
): CompactionPlan {
  let numbers = 0;
  const of = inputs.map((manifest, index) => {
    const base = numbers;
    numbers += numbersOf(manifest);
    const some = [...(leftOut?.[index]?.entries() ?? [])];
    const kept = drawing?.kept[index];
    const { added, dropped } = balanced?.changes[index] ?? NO_CHANGES;
    return {
      generation: manifest.generation,
      base,
      ...(some.length > 0 && { leftOut: some }),
      ...(kept && { kept: [...kept] }),
      ...(added.size > 0 && { added: [...added] }),
      ...(dropped.length > 0 && { dropped: dropped.map((copy): [number, number, number] => [...copy]) }),
    };
  });
  const shards = assigned.shards.map((some) =>
    some.map(([input, shard]): [number, number] => [input, shard]),
  );
  const { seed, shuffle, format } = packing;
  const named = { of, shards, seed, shuffle, format, ...(leavesCopies && { leavesCopies }) };
  const digest = hash('sha256', JSON.stringify(named)).slice(0, 24);
  const newest = Math.max(...inputs.map(({ generation }) => batchOf(generation)));
  return {
    version: DOCUMENT_VERSION,
    pipeline,
    generation: drawing ? drawnName(drawing.drawn.run, digest) : compactedName(pipeline, newest, digest),
    digest,
    of,
    ...(drawing && { drawn: { ...drawing.drawn } }),
    numbers,
    ...(retractions > 0 && { retractions }),
    shards,
    ...(assigned.even && packing.remainder === 'even' && { even: { ...assigned.even } }),
    ...(assigned.even && leftOut && { samplesEach: assigned.even.samples }),
    ...splitsOf(packing, assigned, leftOut !== undefined),
    ...(leavesCopies && { leavesCopies }),
    ...(balanced && { classes: balanced.classes }),
    itemShards: groupItems(inputs, shards),
  };
}

function splitsOf(
  { remainder }: PackingSettings,
  { splits }: CompactionChoice['assigned'],
  isAnyLeftOut: boolean,
): Pick<CompactionPlan, 'splits' | 'samplesEach'> {
  if (splits === undefined) return {};
  return {
    splits: splits.map(({ even, ...split }) => ({
      ...split,
      ...(even && remainder === 'even' && { even: { ...even } }),
    })),
    ...(isAnyLeftOut &&
      remainder !== 'ragged' && { samplesEach: splits.map(({ even }) => even?.samples ?? 0) }),
  };
}

/** How many samples a new shard holds, if copies make up for what is left out. */
export function samplesEachOf({ splits, samplesEach }: CompactionPlan, shard: number): number | undefined {
  if (!Array.isArray(samplesEach)) return samplesEach;
  return samplesEach[splits?.findLastIndex(({ first }) => first <= shard) ?? 0];
}

/** Whether a line of a member list is joined. */
export const isJoined = (
  { leavesCopies }: CompactionPlan,
  leftOut: LeftOutSamples,
  { sample, repeat }: Pick<MemberLine, 'sample' | 'repeat'>,
): boolean => !leftOut.has(sample) && !(leavesCopies === true && repeat !== undefined);

/** Asked once for each old shard, and a drawing may keep millions of samples. */
const leftOutOfInputs = new WeakMap<CompactionPlan['of'][number], LeftOutSamples>();

/** The samples of an input that are not joined. */
export function leftOutOf({ of }: CompactionPlan, input: number): LeftOutSamples {
  const one = of[input];
  if (one === undefined) return new Map();
  const { leftOut = [], kept } = one;
  const known =
    leftOutOfInputs.get(one) ?? (kept === undefined ? new Map(leftOut) : new AllBut(new Set(kept)));
  leftOutOfInputs.set(one, known);
  return known;
}

/** What becomes of the copies of an input. */
export const copyChangesOf = ({ of }: CompactionPlan, input: number): CopyChanges => ({
  added: new Map(of[input]?.added ?? []),
  dropped: of[input]?.dropped ?? [],
});

/** A Lambda joins this in well under a minute. */
const ITEM_BYTES = 512e6;

function groupItems(inputs: readonly Manifest[], shards: CompactionPlan['shards']): number[] {
  const starts: number[] = [];
  let filled = Number.POSITIVE_INFINITY;
  for (const [shard, some] of shards.entries()) {
    const bytes = some.reduce((sum, [input, old]) => sum + (inputs[input]?.shards[old]?.bytes ?? 0), 0);
    if (filled + bytes > ITEM_BYTES) {
      starts.push(shard);
      filled = 0;
    }
    filled += bytes;
  }
  return [...starts, shards.length];
}

export async function readCompactionPlan(
  store: BlobStore,
  pipeline: string,
  generation: string,
): Promise<CompactionPlan> {
  const key = packingKeys(pipeline, generation).planCommit;
  const text = await readText(store, key);
  if (text === undefined) throw new Error(`${generation} has no plan at ${key}: plan the compaction first`);
  return readDocument(kindOf(compactionPlanSchema), key, text);
}
