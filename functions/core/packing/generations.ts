/** Generations as a user sees them: what there is, and how old ones are given up without a run noticing. */
import { layout, parseRunId } from '../layout.ts';
import { places } from './places.ts';
import { type BlobStore, listPages } from './port.ts';
import { type Manifest } from './records.ts';
import { listGenerations } from './sealed-arrivals.ts';

const batchOf = (generation: string): number => parseRunId(generation)?.batch ?? Number.POSITIVE_INFINITY;

/** Runs that have not written their report: they may be reading any generation up to their own. */
export async function unfinishedRuns(store: BlobStore, pipeline: string): Promise<string[]> {
  const unfinished: string[] = [];
  const runs = `${pipeline}/runs/`;
  for await (const page of listPages(store, runs, { delimiter: '/' })) {
    for (const folder of page.prefixes) {
      const runId = folder.slice(runs.length, -1);
      if ((await store.head(layout.report(pipeline, runId))) === undefined) unfinished.push(runId);
    }
  }
  return unfinished;
}

export interface PruneRequest {
  readonly pipeline: string;
  /** Generations before this one are given up. */
  readonly before: string;
  /** The version that the declaration names, if it does. */
  readonly pin?: string | undefined;
  /** Runs without a report that are known to be over. */
  readonly over?: readonly string[];
}

export type PruneResult =
  | { readonly kind: 'pruned'; readonly generations: readonly string[]; readonly objects: number }
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * Takes old generations out of the dataset and deletes their shards. The lists of what they dealt with stay, so that
 * nothing of them is packed again. It may be stopped anywhere and run again.
 */
export async function pruneGenerations(store: BlobStore, request: PruneRequest): Promise<PruneResult> {
  const { pipeline, before, pin } = request;
  const all = await listGenerations(store, pipeline);
  const kept = all.find(({ generation }) => generation === before);
  if (kept === undefined || kept.shards.length === 0)
    return { kind: 'refused', reason: `${before} is no generation that can be trained on` };
  if (pin !== undefined)
    return {
      kind: 'refused',
      reason: `the declaration pins ${pin}, which holds them: take the pin away first`,
    };
  const running = (await unfinishedRuns(store, pipeline)).filter(
    (run) => request.over?.includes(run) !== true,
  );
  if (running.length > 0) {
    return {
      kind: 'refused',
      reason: `${running.join(', ')} may be reading it (no report yet): wait, or name what is over with --over`,
    };
  }
  const old = all.filter(
    (one) => batchOf(one.generation) < batchOf(before) && (one.shards.length > 0 || one.pruned),
  );
  let objects = 0;
  for (const manifest of old) objects += await giveUp(store, manifest);
  return { kind: 'pruned', generations: old.map(({ generation }) => generation), objects };
}

/** First the record of what was dealt with, then the manifest, then what it named. */
async function giveUp(store: BlobStore, manifest: Manifest): Promise<number> {
  const at = places(manifest.pipeline, manifest.generation);
  const record: Manifest = { ...manifest, shards: [], pruned: true };
  await store.put(at.pruned, Buffer.from(`${JSON.stringify(record, undefined, 1)}\n`), {
    only: 'absent',
    contentType: 'application/json',
  });
  await store.delete(at.manifest);
  let deleted = 0;
  for (const part of ['shards/', 'members/', 'index/', 'wids.json', 'index.json']) {
    for await (const page of listPages(store, `${at.generation}${part}`)) {
      for (const { key } of page.objects) {
        await store.delete(key);
        deleted += 1;
      }
    }
  }
  return deleted;
}
