/** Which generations a run trains on: all that are sealed up to its own, the same for every attempt. */
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
  const generations = run.generations ?? (await sealedGenerations(store, run.pipeline, run.batch));
  const several = generations.length > 1;
  const shards = await Promise.all(
    generations.map(async (generation): Promise<GenerationShards> => {
      const shardsPrefix = layout.shards(run.pipeline, generation);
      return several ? { shardsPrefix, shards: await shardNames(store, shardsPrefix) } : { shardsPrefix };
    }),
  );
  return { generations, shards };
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

async function shardNames(store: ObjectStore, prefix: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { key } of store.list(prefix)) names.push(key.slice(prefix.length));
  return names;
}
