/**
 * Chooses the compaction that adds waiting generations to the dataset: those that replace samples of others. The
 * generations that hold these samples are joined with them, whatever their size.
 */
import type { OnChange } from '../../pipeline/dataset.ts';
import type { PackingSettings } from '../../pipeline/pipeline.ts';
import { ConfigurationError } from '../../shared/errors.ts';
import type { BlobStore } from '../model/blob-store.ts';
import type { Manifest } from '../model/manifest.ts';
import { memberLines } from '../model/member-lines.ts';
import { packingKeys } from '../model/packing-keys.ts';
import { manifestsOf } from '../model/sealed-arrivals.ts';
import { type LikelyReaders, type ShardCountRules, shardCountRules } from '../model/shard-count.ts';
import { blobVersions, type DatasetVersion, waitingGenerations } from '../model/versions.ts';
import { assignSurvivors } from './assign-shards.ts';
import { byBatch, type CompactionChoice, joinKey } from './choose-generations.ts';
import type { LeftOutSamples } from './left-out.ts';
import { supersededSamples } from './superseded-samples.ts';

interface ReplacingRules {
  readonly packing: PackingSettings;
  readonly readers?: LikelyReaders | undefined;
}

interface Replacing extends ReplacingRules {
  readonly pipeline: string;
  readonly onChange?: OnChange;
  readonly retracted?: ReadonlySet<string> | undefined;
}

/** Undefined if no generation waits. Those that replace nothing after all are joined alone. */
export async function chooseReplacing(
  store: BlobStore,
  { pipeline, packing, readers, onChange, retracted }: Replacing,
  newest: DatasetVersion | undefined,
): Promise<CompactionChoice | undefined> {
  const names = await waitingGenerations(blobVersions(store), pipeline, newest);
  if (names.length === 0 && retracted === undefined) return undefined;
  const waiting = await manifestsOf(store, pipeline, names);
  const current = await manifestsOf(store, pipeline, newest?.generations ?? []);
  const all = [...current, ...waiting].sort(byBatch);
  const leftOut = await supersededSamples(store, all, { onChange, retracted });
  const leftOutOf = (one: Manifest): LeftOutSamples => leftOut[all.indexOf(one)] ?? new Map();
  const touched = all.filter((one) => waiting.includes(one) || leftOutOf(one).size > 0);
  if (touched.length === 0) return undefined;
  const inputs = await withSurvivor(store, { all, touched, leftOutOf });
  checkJoinable(inputs, packing);
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
    if ((await survivorsOf(store, one, leftOutOf(one))).some((count) => count > 0)) return touched;
  const others = all.filter((one) => !touched.includes(one));
  const [smallest] = others.toSorted((a, b) => a.bytes - b.bytes);
  if (smallest !== undefined) return [...touched, smallest].sort(byBatch);
  throw new ConfigurationError(
    'no sample of the dataset would be left: drop others first, or delete the dataset folder to end it',
  );
}

/** @throws ConfigurationError */
function checkJoinable(inputs: readonly Manifest[], packing: PackingSettings): void {
  const packed = inputs.filter(({ shards }) => shards.length > 0);
  const newest = packed.at(-1);
  const key = newest && joinKey(newest, packing);
  const other = packed.filter((one) => key === undefined || joinKey(one, packing) !== key);
  if (other.length === 0) return;
  const names = other.map(({ generation }) => generation).join(', ');
  throw new ConfigurationError(
    `${names} cannot be joined with ${newest?.generation}, which replaces samples, because the declaration now gives other columns, labels or another format. Declare packing as it was for ${names}, or dataset.onChange: keep to train on both, or prune the older ones`,
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

async function chosen(
  store: BlobStore,
  { inputs, leftOut }: Required<Pick<CompactionChoice, 'inputs' | 'leftOut'>>,
  rules: { readonly packing: PackingSettings; readonly countRules: ShardCountRules },
): Promise<CompactionChoice> {
  const counts: number[][] = [];
  for (const [index, manifest] of inputs.entries())
    counts.push(await survivorsOf(store, manifest, leftOut[index] ?? new Map()));
  const assigned = assignSurvivors(inputs, rules, (input, shard) => counts[input]?.[shard] ?? 0);
  return { inputs, assigned, leftOut };
}

/** How many samples of each shard stay, with their copies. */
async function survivorsOf(store: BlobStore, manifest: Manifest, leftOut: LeftOutSamples): Promise<number[]> {
  const counts = manifest.shards.map(({ samples }) => samples);
  if (leftOut.size === 0) return counts;
  const keys = packingKeys(manifest.pipeline, manifest.generation);
  for (const [index, shard] of manifest.shards.entries()) {
    const gone = new Set<string>();
    for (const { sample, repeat = 0 } of await memberLines(store, keys, shard))
      if (leftOut.has(sample)) gone.add(`${sample}/${repeat}`);
    counts[index] = shard.samples - gone.size;
  }
  return counts;
}
