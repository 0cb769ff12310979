/** Which generations a run trains on: all that are sealed up to its own, the same for every attempt. */
import * as z from 'zod';
import { LaunchRefusedError } from './errors.ts';
import type { GenerationShards } from './launch/channels.ts';
import { layout, parseRunId } from './layout.ts';
import type { ObjectStore } from './ports.ts';
import type { RunRecord } from './records.ts';

export interface Dataset {
  /** Oldest first. */
  readonly generations: readonly string[];
  readonly shards: readonly GenerationShards[];
}

/** A generation exists by its manifest alone; shards without one are the remains of a run that did not seal. */
export async function datasetOf(store: ObjectStore, run: RunRecord): Promise<Dataset> {
  const generations = run.generations ?? (await generationsFor(store, run));
  const several = generations.length > 1;
  const shards = await Promise.all(
    generations.map(async (generation): Promise<GenerationShards> => {
      const shardsPrefix = layout.shards(run.pipeline, generation);
      const found =
        (await shardsByManifest(store, layout.manifest(run.pipeline, generation))) ??
        (several ? await listedShards(store, shardsPrefix) : undefined);
      return {
        shardsPrefix,
        ...(several && { shards: found?.map(({ name }) => name) }),
        ...(found && { totals: { shards: found.length, bytes: sum(found.map(({ bytes }) => bytes)) } }),
      };
    }),
  );
  return { generations, shards };
}

/** Up to the version that the declaration pins, otherwise up to the run's own. */
async function generationsFor(store: ObjectStore, run: RunRecord): Promise<string[]> {
  const pin = run.declaration?.dataset?.pin;
  const pinned = pin === undefined ? Number.POSITIVE_INFINITY : (parseRunId(pin)?.batch ?? 0);
  const generations = await sealedGenerations(store, run.pipeline, Math.min(run.batch, pinned));
  if (pin === undefined || generations.includes(pin)) return generations;
  throw new LaunchRefusedError(
    `dataset.pin names ${pin}, which is no sealed generation of ${run.pipeline} up to ${run.runId}: npm run dataset -- list s3://${store.bucket}/${run.pipeline} shows them`,
  );
}

/** @param upToBatch generations of later batches are left out: they may appear while this run trains */
export async function sealedGenerations(
  store: ObjectStore,
  pipeline: string,
  upToBatch: number,
): Promise<string[]> {
  const folders = await store.listFolders(layout.dataset(pipeline));
  const candidates = folders.filter(
    (folder) => (parseRunId(folder)?.batch ?? Number.POSITIVE_INFINITY) <= upToBatch,
  );
  const sealed = await Promise.all(
    candidates.map(async (folder) => (await store.readText(layout.manifest(pipeline, folder))) !== undefined),
  );
  return candidates.filter((_, index) => sealed[index]).sort();
}

interface Shard {
  /** Relative to the generation's shards. */
  readonly name: string;
  readonly bytes: number;
}

const manifestShards = z.object({
  shards: z.array(z.object({ name: z.string().min(1), bytes: z.number().int().min(0) })),
});

/** undefined for a manifest that says nothing of shards: an older or foreign one. */
async function shardsByManifest(store: ObjectStore, key: string): Promise<readonly Shard[] | undefined> {
  const stored = await store.readText(key);
  const parsed = manifestShards.safeParse(parse(stored?.text));
  return parsed.success ? parsed.data.shards : undefined;
}

async function listedShards(store: ObjectStore, prefix: string): Promise<Shard[]> {
  const shards: Shard[] = [];
  for await (const { key, size } of store.list(prefix)) {
    shards.push({ name: key.slice(prefix.length), bytes: size });
  }
  return shards;
}

function parse(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
