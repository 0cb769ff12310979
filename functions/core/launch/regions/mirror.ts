/**
 * What travels with an attempt in another region: SageMaker takes data only from a bucket of its own region, so shards,
 * code and the newest checkpoint are copied there before the job starts, and what it saved is copied home when it has
 * ended. The data bucket stays the truth. Safe to repeat: what is there already is not copied again.
 */

import { readProgress } from '../../runs/progress.ts';
import { TransientError } from '../../shared/errors.ts';
import { bucketKeys, CHECKPOINT_MARKER } from '../../shared/keys.ts';
import type { ListedObject, ObjectStore } from '../../shared/ports.ts';
import type { Region } from './region-bucket.ts';

export interface Journey {
  readonly pipeline: string;
  readonly runId: string;
  readonly home: ObjectStore;
  readonly region: Region;
  /** Copying stops after this moment, to be gone on with by the next try. */
  readonly until: () => boolean;
}

const TOGETHER = 16;

/** @param prefixes of shards and code, each ending with a slash */
export async function takeAlong(journey: Journey, prefixes: readonly string[]): Promise<void> {
  const { home, region } = journey;
  for (const prefix of prefixes) await bring(journey, { from: home, to: region.store, prefix });
  await bringCheckpoint(journey, home, region.store);
}

/** The newest checkpoint and, after success, the model; the home address of the model is the answer to its address there. */
export async function bringBack(journey: Journey): Promise<void> {
  const { home, region, pipeline, runId } = journey;
  await bringCheckpoint(journey, region.store, home);
  await bring(journey, { from: region.store, to: home, prefix: bucketKeys.models(pipeline, runId) });
}

/** An address in the region's bucket, of what `bringBack` has copied home. */
export const homeAddress = (uri: string, { home, region }: Pick<Journey, 'home' | 'region'>): string => {
  const there = `s3://${region.store.bucket}/`;
  return uri.startsWith(there) ? `s3://${home.bucket}/${uri.slice(there.length)}` : uri;
};

/** Only what the progress note proves, its marker after its files and the note last: it is complete or does not count. */
async function bringCheckpoint(journey: Journey, from: ObjectStore, to: ObjectStore): Promise<void> {
  const { pipeline, runId } = journey;
  const newest = await readProgress(from, pipeline, runId);
  if (newest === undefined) return;
  const known = await readProgress(to, pipeline, runId);
  if (known !== undefined && known.step >= newest.step) return;
  const prefix = `${bucketKeys.checkpoints(pipeline, runId)}${newest.checkpoint}`;
  await bring(journey, { from, to, prefix, last: CHECKPOINT_MARKER });
  const note = await from.readText(bucketKeys.progress(pipeline, runId));
  if (note !== undefined) await to.writeText(bucketKeys.progress(pipeline, runId), note.text);
}

interface Way {
  readonly from: ObjectStore;
  readonly to: ObjectStore;
  readonly prefix: string;
  /** The name of an object that is copied when all others are there. */
  readonly last?: string | undefined;
}

async function bring(journey: Journey, { from, to, prefix, last }: Way): Promise<void> {
  const there = new Map<string, number>();
  for await (const { key, size } of to.list(prefix)) there.set(key, size);
  const missing: ListedObject[] = [];
  const finally_: ListedObject[] = [];
  for await (const object of from.list(prefix)) {
    if (there.get(object.key) === object.size) continue;
    (last !== undefined && object.key.endsWith(`/${last}`) ? finally_ : missing).push(object);
  }
  await copyAll(journey, missing, from, to);
  await copyAll(journey, finally_, from, to);
}

async function copyAll(
  { region, until }: Journey,
  objects: readonly ListedObject[],
  from: ObjectStore,
  to: ObjectStore,
): Promise<void> {
  const waiting = [...objects];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (until())
        throw new TransientError(
          `${waiting.length + 1} of ${objects.length} objects are still to be copied to ${to.bucket}: the next try goes on`,
        );
      await region.copy({ key: next.key, size: next.size }, from, to);
    }
  };
  await Promise.all(Array.from({ length: Math.min(TOGETHER, waiting.length) }, work));
}
