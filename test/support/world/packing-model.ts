/**
 * Plan, pack and seal as small as they can be with the promises that the real ones keep (test/unit/packing): one
 * immutable plan a run, finished items are skipped, the manifest is written last and only if none is there.
 */
import * as z from 'zod';
import { sealedGenerations } from '../../../functions/core/dataset/dataset-version.ts';
import { takeIn, versionsBeside } from '../../../functions/core/packing/model/versions.ts';
import { bucketKeys } from '../../../functions/core/shared/keys.ts';
import type { ObjectStore } from '../../../functions/core/shared/ports.ts';

export interface PackedRun {
  readonly pipeline: string;
  readonly runId: string;
}

/** `key etag` of each arrival. */
export type Arrivals = readonly string[];

const planKey = ({ pipeline, runId }: PackedRun) => `${bucketKeys.plan(pipeline, runId)}plan.json`;
const doneKey = ({ pipeline, runId }: PackedRun, item: number) =>
  `${bucketKeys.plan(pipeline, runId)}done-${item}`;
const ITEM_OBJECTS = 3;
const itemsOf = (planned: Arrivals): number => Math.ceil(planned.length / ITEM_OBJECTS);

export async function arrivalsAt(store: ObjectStore, key: string): Promise<Arrivals | undefined> {
  const stored = await store.readText(key);
  if (stored === undefined) return undefined;
  return arrivalsIn.parse(JSON.parse(stored.text)).arrivals;
}

const arrivalsIn = z.object({ arrivals: z.array(z.string()) });

export async function plan(store: ObjectStore, run: PackedRun, marker: string) {
  let planned = await arrivalsAt(store, planKey(run));
  if (planned === undefined) {
    await store.createText(planKey(run), JSON.stringify({ arrivals: await unsealed(store, run, marker) }));
    planned = (await arrivalsAt(store, planKey(run))) ?? [];
  }
  const items = Array.from({ length: itemsOf(planned) }, (_, item) => ({ item }));
  await store.writeText(bucketKeys.planItems(run.pipeline, run.runId), JSON.stringify(items));
  return { status: planned.length === 0 ? 'nothingNew' : 'planned', items: items.length };
}

async function unsealed(store: ObjectStore, run: PackedRun, marker: string): Promise<string[]> {
  const generations = await sealedGenerations(store, run.pipeline, Number.POSITIVE_INFINITY);
  const sealed = new Set<string>();
  for (const generation of generations) {
    const manifest = await arrivalsAt(store, bucketKeys.manifest(run.pipeline, generation));
    for (const arrival of manifest ?? []) sealed.add(arrival);
  }
  const prefix = bucketKeys.incoming(run.pipeline);
  const found: string[] = [];
  for await (const { key, etag } of store.list(prefix)) {
    if (key !== prefix + marker && !sealed.has(`${key} ${etag}`)) found.push(`${key} ${etag}`);
  }
  return found;
}

export async function pack(store: ObjectStore, run: PackedRun, item: number) {
  if ((await store.readText(doneKey(run, item))) === undefined) {
    await store.writeText(`${bucketKeys.shards(run.pipeline, run.runId)}${item}.tar`, 'shard');
    await store.writeText(doneKey(run, item), 'done');
  }
  return { item };
}

export async function seal(store: ObjectStore, run: PackedRun) {
  const key = bucketKeys.manifest(run.pipeline, run.runId);
  if ((await store.readText(key)) === undefined) {
    const planned = (await arrivalsAt(store, planKey(run))) ?? [];
    for (let item = 0; item < itemsOf(planned); item += 1) {
      if ((await store.readText(doneKey(run, item))) === undefined)
        throw new Error(`item ${item} is not packed`);
    }
    const shards = Array.from({ length: itemsOf(planned) }, (_, item) => ({ name: `${item}.tar`, bytes: 5 }));
    await store.createText(key, JSON.stringify({ version: 1, shards, arrivals: planned }));
  }
  await takeIn(versionsBeside(store), run.pipeline);
  return { status: 'sealed', generation: run.runId };
}
