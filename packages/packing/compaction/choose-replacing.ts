/**
 * Chooses the compaction that adds waiting generations to the dataset: those that replace samples of others. The
 * generations that hold these samples are joined with them, whatever their size.
 */

import { isDeepStrictEqual } from 'node:util';
import type { OnChange, PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { ConfigurationError } from '@tidewheel/kit/errors.ts';
import { quoted } from '@tidewheel/kit/quoted.ts';
import { keysRetracted, type Retraction } from '../arrivals/retractions.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import type { Manifest } from '../documents/manifest.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { manifestsOf } from '../documents/sealed-arrivals.ts';
import { memberLines } from '../documents/sealed-lines.ts';
import { type LikelyReaders, type ShardCountRules, shardCountRules } from '../documents/shard-count.ts';
import { blobVersions, type DatasetVersion, waitingGenerations } from '../documents/versions.ts';
import { headerDifference, shownHeader } from '../formats/csv-header.ts';
import { type AssignedShards, assignSurvivors } from './assign-shards.ts';
import { balancedAgain, type CopyChanges, DroppedCopies, NO_CHANGES } from './balance-again.ts';
import { byBatch, type CompactionChoice, joinKey } from './choose-generations.ts';
import { type LeftOutSamples, supersededSamples } from './superseded-samples.ts';

interface ReplacingRules {
  readonly packing: PackingSettings;
  readonly readers?: LikelyReaders | undefined;
}

interface Replacing extends ReplacingRules {
  readonly pipeline: string;
  readonly onChange?: OnChange;
  /** All of the pipeline. */
  readonly retractions: readonly Retraction[];
}

/**
 * Undefined if no generation waits, and none holds what was retracted since. Those that replace nothing after all are
 * joined alone.
 */
export async function chooseReplacing(
  store: BlobStore,
  { pipeline, packing, readers, onChange, retractions }: Replacing,
  newest: DatasetVersion | undefined,
): Promise<CompactionChoice | undefined> {
  const names = await waitingGenerations(blobVersions(store), pipeline, newest);
  if (names.length === 0 && retractions.length === 0) return undefined;
  const waiting = await manifestsOf(store, pipeline, names);
  const current = await manifestsOf(store, pipeline, newest?.generations ?? []);
  const all = [...current, ...waiting].sort(byBatch);
  const retracted = all.map(({ retractions: known }) => keysRetracted(retractions, known));
  if (names.length === 0 && retracted.every(({ size }) => size === 0)) return undefined;
  const leftOut = await supersededSamples(store, all, { onChange, retracted });
  const leftOutOf = (one: Manifest): LeftOutSamples => leftOut[all.indexOf(one)] ?? new Map();
  const touched = all.filter((one) => waiting.includes(one) || leftOutOf(one).size > 0);
  if (touched.length === 0) return undefined;
  const inputs = await withSurvivor(store, { all, touched, leftOutOf });
  await checkJoinable(store, inputs, packing);
  const countRules = shardCountRules(packing, readers);
  return chosen(store, { inputs, leftOut: inputs.map(leftOutOf) }, { packing, countRules });
}

/**
 * A generation has a sample, so the smallest of the others is joined too where none would be left.
 * @throws ConfigurationError
 */
async function withSurvivor(
  store: BlobStore,
  {
    all,
    touched,
    leftOutOf,
  }: {
    readonly all: readonly Manifest[];
    readonly touched: readonly Manifest[];
    readonly leftOutOf: (one: Manifest) => LeftOutSamples;
  },
): Promise<readonly Manifest[]> {
  for (const one of touched)
    if ((await survivorsOf(store, one, leftOutOf(one))).some(({ samples }) => samples > 0)) return touched;
  const others = all.filter((one) => !touched.includes(one));
  const [smallest] = others.toSorted((a, b) => a.bytes - b.bytes);
  if (smallest !== undefined) return [...touched, smallest].sort(byBatch);
  throw new ConfigurationError(
    'no sample of the dataset would be left: drop others first, or delete the dataset folder to end it',
  );
}

/** @throws ConfigurationError */
async function checkJoinable(
  store: BlobStore,
  inputs: readonly Manifest[],
  packing: PackingSettings,
): Promise<void> {
  const packed = inputs.filter(({ shards }) => shards.length > 0);
  const newest = packed.at(-1);
  if (newest === undefined) return;
  const key = joinKey(newest, packing);
  const other = packed.filter(
    (one) => key === undefined || joinKey(withHeaderOf(one, newest), packing) !== key,
  );
  if (other.length === 0) return;
  const difference = await headersDiffer(store, other, newest);
  if (difference !== undefined) throw new ConfigurationError(difference);
  const names = other.map(({ generation }) => generation).join(', ');
  throw new ConfigurationError(
    `${names} cannot be joined with ${newest.generation}, which replaces samples, because the declaration now gives other columns, labels or another format. Declare packing as it was for ${names}, or dataset.onChange: keep to train on both, or prune the older ones`,
  );
}

/** The same choice without samples of which another input holds a newer version. */
export async function withoutReplaced(
  store: BlobStore,
  choice: CompactionChoice,
  { packing, readers }: ReplacingRules,
): Promise<CompactionChoice> {
  const order = choice.inputs.toSorted(byBatch);
  const found = await supersededSamples(store, order, {});
  if (found.every(({ size }) => size === 0)) return choice;
  const leftOut = choice.inputs.map((one) => found[order.indexOf(one)] ?? new Map());
  const countRules = shardCountRules(packing, readers);
  return chosen(store, { inputs: choice.inputs, leftOut }, { packing, countRules });
}

/** Assigns what is left of the inputs to new shards. */
export async function chosen(
  store: BlobStore,
  { inputs, leftOut }: Required<Pick<CompactionChoice, 'inputs' | 'leftOut'>>,
  rules: { readonly packing: PackingSettings; readonly countRules: ShardCountRules },
): Promise<CompactionChoice> {
  const balanced = await balancedAgain(store, { inputs, leftOut }, rules.packing);
  const counts: Survivors[][] = [];
  for (const [index, manifest] of inputs.entries())
    counts.push(await survivorsOf(store, manifest, leftOut[index] ?? new Map(), balanced?.changes[index]));
  const assignedBy = (count: (of: Survivors) => number): AssignedShards =>
    assignSurvivors(inputs, rules, (input, shard) => count(counts[input]?.[shard] ?? NONE));
  const assigned = assignedBy(({ samples, copies }) => samples + copies);
  if (!areCopiesMadeAgain(inputs, rules.packing))
    return { inputs, assigned, leftOut, ...(balanced && { balanced }) };
  const withoutCopies = assignedBy(({ samples }) => samples);
  // Old shards that hold nothing else may be needed, so that every reader has a shard.
  return isAsMany(withoutCopies, assigned)
    ? { inputs, assigned: withoutCopies, leftOut, leavesCopies: true }
    : { inputs, assigned, leftOut };
}

/** Copies that make counts equal follow from the shards, so those of old shards would only add up. */
const areCopiesMadeAgain = (inputs: readonly Manifest[], { remainder, balance }: PackingSettings): boolean =>
  remainder === 'even' &&
  balance === undefined &&
  inputs.some(({ repeated }) => repeated > 0) &&
  inputs.every((one) => one.balance === undefined);

const isAsMany = (one: AssignedShards, other: AssignedShards): boolean =>
  one.shards.length === other.shards.length &&
  isDeepStrictEqual(
    one.splits?.map(({ first }) => first),
    other.splits?.map(({ first }) => first),
  );

/** What of an old shard stays. */
interface Survivors {
  readonly samples: number;
  readonly copies: number;
}

const NONE: Survivors = { samples: 0, copies: 0 };

/** What stays of each shard. */
async function survivorsOf(
  store: BlobStore,
  manifest: Manifest,
  leftOut: LeftOutSamples,
  changes: CopyChanges = NO_CHANGES,
): Promise<Survivors[]> {
  if (leftOut.size === 0 && manifest.repeated === 0 && changes.added.size === 0)
    return manifest.shards.map(({ samples }) => ({ samples, copies: 0 }));
  const keys = packingKeys(manifest.pipeline, manifest.generation);
  const dropped = new DroppedCopies(changes.dropped);
  const found: Survivors[] = [];
  for (const [index, shard] of manifest.shards.entries()) {
    const [samples, copies] = [new Set<number>(), new Set<string>()];
    for (const { sample, repeat } of await memberLines(store, keys, shard)) {
      if (leftOut.has(sample) || dropped.has(index, sample, repeat)) continue;
      if (repeat === undefined) samples.add(sample);
      else copies.add(`${sample}/${repeat}`);
    }
    const added = [...samples].reduce((sum, sample) => sum + (changes.added.get(sample) ?? 0), 0);
    found.push({ samples: samples.size, copies: copies.size + added });
  }
  return found;
}

// Generations of CSV sources whose headers differ: their rows cannot lie under one header.

/** The header line of its sources, in its shards or not. */
const headerOf = ({ schema }: Pick<Manifest, 'schema'>): string | undefined =>
  schema.csvHeader ?? schema.droppedHeader;

/** Earlier releases kept no header that they dropped: it counts as the same. */
export function withHeaderOf(one: Manifest, { schema }: Pick<Manifest, 'schema'>): Manifest {
  const { droppedHeader } = schema;
  return droppedHeader === undefined || one.schema.kind !== 'csv' || headerOf(one) !== undefined
    ? one
    : { ...one, schema: { ...one.schema, droppedHeader } };
}

/** What a person has to know of the first one whose header differs; undefined if none does. */
async function headersDiffer(
  store: BlobStore,
  others: readonly Manifest[],
  newest: Manifest,
): Promise<string | undefined> {
  const mine = headerOf(newest);
  const other = others.find((one) => headerOf(one) !== undefined && headerOf(one) !== mine);
  const theirs = other && headerOf(other);
  if (mine === undefined || other === undefined || theirs === undefined) return undefined;
  const { pipeline, generation } = newest;
  const keys = packingKeys(pipeline, generation);
  const [shard] = newest.shards;
  const [line] = shard === undefined ? [] : await memberLines(store, keys, shard);
  return (
    `the header of ${quoted(line?.key ?? generation)} is ${shownHeader(mine)}, and that of ${other.generation}, ` +
    `in which ${generation} replaces samples, is ${shownHeader(theirs)}: ${headerDifference(mine, theirs)}. ` +
    `Run ${keys.repair} --give-up, and drop the files of ${generation} again with the header of ${other.generation}; ` +
    'or declare dataset.onChange: keep to train on both'
  );
}
