/**
 * A minimal model of plan, pack and seal. It keeps the promises of the real steps (test/unit/packing): each run has one
 * immutable plan, finished items are skipped, and the manifest is written last and only once.
 */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { addSealed, objectVersions } from '@tidewheel/packing/dataset.ts';
import { ShardMissingError } from '@tidewheel/packing/seal.ts';
import * as z from 'zod';

export interface PackedRun {
  readonly pipeline: string;
  readonly runId: string;
}

/** `key etag` of each arrival. */
export type Arrivals = readonly string[];

const planKey = ({ pipeline, runId }: PackedRun) => `${bucketKeys.plan(pipeline, runId)}plan.json`;
const doneKey = ({ pipeline, runId }: PackedRun, item: number) =>
  `${bucketKeys.plan(pipeline, runId)}done-${item}`;
export const ITEM_OBJECTS = 3;
const SHARD = 'shard';

const arrivalsSchema = z.array(z.string());

async function plannedArrivals(store: ObjectStore, run: PackedRun): Promise<Arrivals | undefined> {
  const stored = await store.readText(planKey(run));
  return stored && arrivalsSchema.parse(JSON.parse(stored.text));
}

/** Empty if the generation is not sealed. */
export async function sealedArrivals(
  store: ObjectStore,
  pipeline: string,
  generation: string,
): Promise<Arrivals> {
  const stored = await store.readText(bucketKeys.manifest(pipeline, generation));
  return stored ? z.object({ arrivals: arrivalsSchema }).parse(JSON.parse(stored.text)).arrivals : [];
}

const shardName = (item: number): string => `${item}.tar`;

const shardsOf = (planned: Arrivals) =>
  Array.from({ length: Math.ceil(planned.length / ITEM_OBJECTS) }, (_, item) => ({
    name: shardName(item),
    bytes: SHARD.length,
  }));

export async function plan(store: ObjectStore, run: PackedRun, marker: string) {
  let planned = await plannedArrivals(store, run);
  if (planned === undefined) {
    await store.createText(planKey(run), JSON.stringify(await unsealed(store, run, marker)));
    planned = (await plannedArrivals(store, run)) ?? [];
  }
  const items = shardsOf(planned).map((_, item) => ({ item }));
  await store.writeText(bucketKeys.planItems(run.pipeline, run.runId), JSON.stringify(items));
  return { status: planned.length === 0 ? 'nothingNew' : 'planned', items: items.length, waiting: false };
}

async function unsealed(store: ObjectStore, run: PackedRun, marker: string): Promise<string[]> {
  const sealed = new Set<string>();
  for (const generation of await store.listFolders(bucketKeys.dataset(run.pipeline)))
    for (const arrival of await sealedArrivals(store, run.pipeline, generation)) sealed.add(arrival);
  const prefix = bucketKeys.incoming(run.pipeline);
  const found: string[] = [];
  for await (const { key, etag } of store.list(prefix)) {
    if (key !== prefix + marker && !sealed.has(`${key} ${etag}`)) found.push(`${key} ${etag}`);
  }
  return found;
}

export async function pack(store: ObjectStore, run: PackedRun, item: number) {
  if ((await store.readText(doneKey(run, item))) === undefined) {
    await store.writeText(`${bucketKeys.shards(run.pipeline, run.runId)}${shardName(item)}`, SHARD);
    await store.writeText(doneKey(run, item), 'done');
  }
  return { item };
}

export async function seal(store: ObjectStore, run: PackedRun) {
  const key = bucketKeys.manifest(run.pipeline, run.runId);
  if ((await store.readText(key)) === undefined) {
    const planned = (await plannedArrivals(store, run)) ?? [];
    for (let item = 0; item * ITEM_OBJECTS < planned.length; item += 1) {
      if ((await store.readText(doneKey(run, item))) === undefined)
        throw new ShardMissingError(run.runId, item);
    }
    await store.createText(key, JSON.stringify({ version: 1, shards: shardsOf(planned), arrivals: planned }));
  }
  await addSealed(objectVersions(store), run.pipeline);
  return { status: 'sealed', generation: run.runId, mayCompact: true };
}
