/** One immutable plan a compaction, named by what it joins: two compactors of the same generations work on one. */
import { hash } from 'node:crypto';
import * as z from 'zod';
import { datasetSchema } from '../../pipeline/dataset.ts';
import type { PackingSettings, Pipeline } from '../../pipeline/pipeline.ts';
import { bucketKeys, compactedName } from '../../shared/keys.ts';
import { type BlobStore, readText } from '../model/blob-store.ts';
import type { LikelyReaders } from '../model/division.ts';
import type { Manifest } from '../model/documents.ts';
import { places } from '../model/packing-keys.ts';
import { manifestsOf } from '../model/sealed-arrivals.ts';
import { batchOf, type DatasetVersion, newestVersion, versionsIn } from '../model/versions.ts';
import { type Chosen, chooseInputs } from './choose-generations.ts';

const compactionPlanSchema = z.object({
  version: z.literal(1),
  pipeline: z.string(),
  generation: z.string(),
  digest: z.string(),
  /** What is joined, oldest first; samples are numbered anew from `base`. */
  of: z.array(z.object({ generation: z.string(), base: z.number().int() })),
  /** Above all numbers of samples. */
  numbers: z.number().int(),
  /** Old shards of each new one: index in `of`, index in its manifest. */
  shards: z.array(z.array(z.tuple([z.number().int(), z.number().int()]))),
  even: z.object({ shards: z.number().int(), samples: z.number().int() }).optional(),
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
  readonly after: number;
  readonly everything?: boolean;
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

/** What a declaration asks for after a seal. A pinned pipeline trains on what it has: there is nothing to gain. */
export function compactionWanted(dataset: Pipeline['dataset']): { readonly after: number } | undefined {
  const { pin, compactAfter } = dataset ?? datasetSchema.parse({});
  return pin === undefined && compactAfter !== 'never' ? { after: compactAfter } : undefined;
}

/** Chooses and commits, unless the same is planned already. */
export async function planCompaction(store: BlobStore, input: CompactionInput): Promise<CompactionPlanned> {
  const chosen = await chooseCompaction(store, input);
  if (chosen === undefined) return NOTHING_TO_COMPACT;
  const plan = planOf(input, chosen);
  const at = places(input.pipeline, plan.generation);
  await store.put(at.planCommit, Buffer.from(JSON.stringify(plan)), {
    only: 'absent',
    contentType: 'application/json',
  });
  const items = itemsOf(plan);
  await store.put(at.planItems, Buffer.from(JSON.stringify(items)), { contentType: 'application/json' });
  return { status: 'planned', generation: plan.generation, items: items.length, itemsKey: at.planItems };
}

export const itemsOf = (plan: CompactionPlan): CompactionItem[] =>
  Array.from({ length: plan.itemShards.length - 1 }, (_, item) => ({
    item,
    plan: plan.digest,
    generation: plan.generation,
  }));

/** What would be joined now; nothing is written. */
export async function chooseCompaction(
  store: BlobStore,
  { pipeline, packing, readers, after, everything }: CompactionInput,
): Promise<Chosen | undefined> {
  const newest = await newestVersion(versionsIn(store), pipeline);
  if (newest === undefined || newest.generations.length < 2) return undefined;
  const current = await manifestsOf(store, pipeline, newest.generations);
  const small = { packing, readers, after, ...(everything !== undefined && { everything }) };
  if (chooseInputs(current, [], small) === undefined) return undefined;
  const rejecting = await manifestsOf(store, pipeline, await withoutShards(store, pipeline, newest));
  const only = rejecting.filter(({ shards, pruned }) => shards.length === 0 && pruned !== true);
  return chooseInputs(current, only, small);
}

/** Folders of runs that no version names: those whose arrivals were all rejected are among them. */
async function withoutShards(
  store: BlobStore,
  pipeline: string,
  newest: DatasetVersion,
): Promise<readonly string[]> {
  const folders = await versionsIn(store).folders(bucketKeys.dataset(pipeline));
  const known = new Set([...Object.keys(newest.added), ...newest.replaced]);
  return folders.filter((name) => Number.isFinite(batchOf(name)) && !known.has(name));
}

/** Numbers of samples are below this in every generation: a sample has at least one object. */
const numbersOf = ({ arrivals, compacted }: Manifest): number => compacted?.numbers ?? arrivals.objects;

function planOf({ pipeline, packing }: CompactionInput, { inputs, dealt }: Chosen): CompactionPlan {
  let numbers = 0;
  const of = inputs.map((manifest) => {
    const base = numbers;
    numbers += numbersOf(manifest);
    return { generation: manifest.generation, base };
  });
  const shards = dealt.shards.map((some) => some.map(([input, shard]): [number, number] => [input, shard]));
  const { seed, shuffle, format } = packing;
  const digest = hash('sha256', JSON.stringify({ of, shards, seed, shuffle, format })).slice(0, 24);
  const newest = Math.max(...inputs.map(({ generation }) => batchOf(generation)));
  return {
    version: 1,
    pipeline,
    generation: compactedName(pipeline, newest, digest),
    digest,
    of,
    numbers,
    shards,
    ...(dealt.even && { even: { ...dealt.even } }),
    itemShards: groupItems(inputs, shards),
  };
}

/** About what one Lambda joins in well under a minute. */
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
  const key = places(pipeline, generation).planCommit;
  const text = await readText(store, key);
  if (text === undefined) throw new Error(`${generation} has no plan at ${key}; plan the compaction first`);
  return compactionPlanSchema.parse(JSON.parse(text));
}
