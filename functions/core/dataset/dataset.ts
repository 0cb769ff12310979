/** Which generations a run trains on: all that are sealed up to its own, the same for every attempt. */
import * as z from 'zod';
import type { RunRecord } from '../runs/run-records.ts';
import { bucketKeys } from '../shared/keys.ts';
import type { ObjectStore } from '../shared/ports.ts';
import { heldGenerations } from './dataset-version.ts';

/** One generation of the dataset, as a training channel sees it. */
export interface GenerationShards {
  /** `layout.shards(...)`: nothing but shards lies under it. */
  readonly shardsPrefix: string;
  /** Shard names relative to the prefix; needed when a run trains on several generations, or by Pipes of several processes. */
  readonly shards?: readonly string[] | undefined;
  /** Number and size of all its shards, for choosing the input mode. */
  readonly totals?: { readonly shards: number; readonly bytes: number } | undefined;
}

export interface Dataset {
  /** Oldest first. */
  readonly generations: readonly string[];
  readonly shards: readonly GenerationShards[];
}

/**
 * Shards without a manifest are the remains of a run that did not seal. A run notes what it reads before it reads, and
 * then looks whether that was given up meanwhile: a prune does the same in the opposite order, so one of them notices.
 */
export async function datasetOf(store: ObjectStore, run: RunRecord): Promise<Dataset> {
  const generations = run.generations ?? (await heldGenerations(store, run));
  const several = generations.length > 1;
  const shards = await Promise.all(
    generations.map(async (generation): Promise<GenerationShards> => {
      const manifest = await readManifest(store, bucketKeys.manifest(run.pipeline, generation));
      const shardsPrefix = bucketKeys.shards(run.pipeline, generation, manifest?.revision);
      const found = manifest?.shards ?? (several ? await listedShards(store, shardsPrefix) : undefined);
      return {
        shardsPrefix,
        ...(found && { shards: found.map(({ name }) => name) }),
        ...(found && { totals: { shards: found.length, bytes: sum(found.map(({ bytes }) => bytes)) } }),
      };
    }),
  );
  return { generations, shards };
}

interface Shard {
  /** Relative to the generation's shards. */
  readonly name: string;
  readonly bytes: number;
}

const manifestShards = z.object({
  revision: z.string().optional(),
  shards: z.array(z.object({ name: z.string().min(1), bytes: z.number().int().min(0) })),
});

/** undefined for a manifest that says nothing of shards: an older or foreign one. */
async function readManifest(
  store: ObjectStore,
  key: string,
): Promise<z.output<typeof manifestShards> | undefined> {
  const stored = await store.readText(key);
  const parsed = manifestShards.safeParse(parse(stored?.text));
  return parsed.data;
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

/** Of all shards that the run trains on; undefined where a manifest does not say. */
export async function datasetBytes(store: ObjectStore, run: RunRecord): Promise<number | undefined> {
  const { shards } = await datasetOf(store, run);
  const known = shards.map(({ totals }) => totals?.bytes);
  return known.includes(undefined) ? undefined : sum(known.map((bytes) => bytes ?? 0));
}
