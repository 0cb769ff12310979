/**
 * Chooses what a run trains on that begins from a model: the samples that the model has not seen and, by a hash of key
 * and run, a share of the others. Generations that are new as a whole are read as they lie; the chosen samples of all
 * others are joined once, as a compaction joins them, into shards that only this run reads.
 */

import { parseGeneration } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { ConfigurationError } from '@tidewheel/kit/errors.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import type { MemberLine } from '../documents/documents.ts';
import type { DrawnSamples, Manifest } from '../documents/manifest.ts';
import { arrivalOf } from '../documents/order.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { manifestsOf } from '../documents/sealed-arrivals.ts';
import { inOrder, memberLines, sealedLines } from '../documents/sealed-lines.ts';
import { type LikelyReaders, shardCountRules } from '../documents/shard-count.ts';
import { hashPlace, splitOfShard } from '../splits/split-rule.ts';
import { joinKey } from './choose-generations.ts';
import { chosen, withHeaderOf } from './choose-replacing.ts';
import {
  type CompactionPlanned,
  commitCompaction,
  compactionPlan,
  NOTHING_TO_COMPACT,
} from './plan-compaction.ts';
import { AllBut } from './superseded-samples.ts';

export interface DrawingInput {
  readonly runId: string;
  readonly pipeline: string;
  readonly packing: PackingSettings;
  readonly readers?: LikelyReaders | undefined;
  /** What the run would read as a whole. */
  readonly generations: readonly string[];
  /** What the run of the model has read. */
  readonly seen: readonly string[];
  /** The share of earlier samples, 0 to 1. */
  readonly replay: number;
}

export interface PlannedDrawing extends CompactionPlanned, Omit<DrawnSamples, 'run'> {
  /** Generations of new samples alone. */
  readonly whole: readonly string[];
}

/**
 * Commits the plan of the joined samples, where there are some. The same input gives the same plan.
 * @returns undefined if nothing is new
 * @throws ConfigurationError if generations cannot be drawn from together
 */
export async function planDrawing(
  store: BlobStore,
  input: DrawingInput,
): Promise<PlannedDrawing | undefined> {
  const { pipeline, runId, packing, replay } = input;
  const manifests = await manifestsOf(store, pipeline, input.generations);
  const { whole, others } = await divide(store, manifests, await manifestsOf(store, pipeline, input.seen));
  const choices: Choice[] = [];
  for (const { manifest, fresh } of others) {
    const choice = await chooseIn(store, manifest, { runId, fresh, replay });
    if (choice.kept.size > 0) choices.push(choice);
  }
  const sum = (of: (one: Choice) => number): number => choices.reduce((total, one) => total + of(one), 0);
  const drawn: DrawnSamples = {
    run: runId,
    replay,
    new: samplesIn(whole) + sum((one) => one.new),
    replayed: sum(({ kept, new: fresh }) => kept.size - fresh),
    earlier: samplesIn(others.map(({ manifest }) => manifest)) - sum((one) => one.new),
  };
  if (drawn.new === 0) return undefined;
  const common = { ...drawn, whole: whole.map(({ generation }) => generation) };
  if (choices.length === 0) return { ...NOTHING_TO_COMPACT, ...common };
  const inputs = choices.map(({ manifest }) => manifest);
  checkJoinable(inputs, packing);
  const keeping = { inputs, leftOut: choices.map(({ kept }) => new AllBut(kept)) };
  const rules = { packing, countRules: shardCountRules(packing, input.readers) };
  const kept = choices.map((one) => one.kept);
  const plan = compactionPlan(input, await chosen(store, keeping, rules), { drawn, kept });
  return { ...(await commitCompaction(store, plan)), ...common };
}

const isTraining = ({ name }: Manifest['shards'][number]): boolean =>
  (splitOfShard(name) ?? 'train') === 'train';

/** Without copies. */
const samplesIn = (manifests: readonly Manifest[]): number =>
  manifests.reduce(
    (total, { shards, repeated }) =>
      shards.filter(isTraining).reduce((sum, { samples }) => sum + samples, total - repeated),
    0,
  );

interface Divided {
  readonly whole: readonly Manifest[];
  /** With the arrivals in them that are new, by `arrivalOf`. */
  readonly others: readonly { readonly manifest: Manifest; readonly fresh: ReadonlySet<string> }[];
}

async function divide(
  store: BlobStore,
  manifests: readonly Manifest[],
  seen: readonly Manifest[],
): Promise<Divided> {
  const known = new Set((await Promise.all(seen.map((one) => packedIn(store, one)))).flat());
  const whole: Manifest[] = [];
  const others: { manifest: Manifest; fresh: ReadonlySet<string> }[] = [];
  for (const manifest of manifests) {
    const names = await packedIn(store, manifest);
    const old = names.filter((name) => known.has(name));
    if (old.length === 0) whole.push(manifest);
    else if (old.length === names.length) others.push({ manifest, fresh: new Set() });
    else others.push({ manifest, fresh: await freshIn(store, manifest, seen) });
  }
  return { whole, others };
}

/** The generations of runs that a joined one consists of. */
async function packedIn(store: BlobStore, { pipeline, generation, compacted }: Manifest): Promise<string[]> {
  if (compacted === undefined) return [generation];
  const joined = compacted.of.filter((name) => parseGeneration(name)?.isCompacted === true);
  const inner = await manifestsOf(store, pipeline, joined);
  const names = await Promise.all(inner.map((one) => packedIn(store, one)));
  return [...compacted.of.filter((name) => !joined.includes(name)), ...names.flat()];
}

/** A correction has other bytes, so it is new. */
async function freshIn(
  store: BlobStore,
  manifest: Manifest,
  seen: readonly Manifest[],
): Promise<ReadonlySet<string>> {
  const fresh = new Set<string>();
  let known = '';
  const lists = [...seen, manifest].map((one) => sealedLines(store, one));
  // Of equal arrivals, that of the oldest list comes first.
  for await (const { line, age } of inOrder(lists)) {
    const [key, etag, , outcome] = line;
    if (typeof outcome !== 'number') continue;
    const arrival = arrivalOf(key, etag);
    if (age < seen.length) known = arrival;
    else if (arrival !== known) fresh.add(arrival);
  }
  return fresh;
}

interface Choice {
  readonly manifest: Manifest;
  /** Numbers of the samples. */
  readonly kept: ReadonlySet<number>;
  /** How many of them are new. */
  readonly new: number;
}

async function chooseIn(
  store: BlobStore,
  manifest: Manifest,
  {
    runId,
    fresh,
    replay,
  }: { readonly runId: string; readonly fresh: ReadonlySet<string>; readonly replay: number },
): Promise<Choice> {
  const [kept, news] = [new Set<number>(), new Set<number>()];
  const place = packingKeys(manifest.pipeline, manifest.generation);
  const isRead = fresh.size > 0 || replay > 0;
  for (const shard of isRead ? manifest.shards.filter(isTraining) : []) {
    // A sample lies in one shard.
    const keys = new Map<number, string>();
    for (const line of await memberLines(store, place, shard)) {
      const { sample, key } = line;
      if (key === undefined || line.repeat !== undefined) continue;
      if (!keys.has(sample)) keys.set(sample, key);
      if (isFresh(line, fresh)) news.add(sample);
    }
    for (const [sample, key] of keys)
      if (news.has(sample) || hashPlace(`${runId} ${key}`) < replay) kept.add(sample);
  }
  return { manifest, kept, new: news.size };
}

const isFresh = ({ key = '', etag = '' }: MemberLine, fresh: ReadonlySet<string>): boolean =>
  fresh.size > 0 && fresh.has(arrivalOf(key, etag));

/** @throws ConfigurationError */
function checkJoinable(inputs: readonly Manifest[], packing: PackingSettings): void {
  const newest = inputs.at(-1);
  if (newest === undefined) return;
  const key = joinKey(newest, packing);
  const others = inputs.filter(
    (one) => key === undefined || joinKey(withHeaderOf(one, newest), packing) !== key,
  );
  if (others.length === 0) return;
  const names = others.map(({ generation }) => generation).join(', ');
  const than = key === undefined ? 'declared now' : newest.generation;
  throw new ConfigurationError(
    `${names} ${others.length === 1 ? 'has' : 'have'} other columns, labels or another format than ${than}, so no samples of them lie in shards together: declare packing as it was, or dataset.read: all`,
  );
}
