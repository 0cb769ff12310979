/**
 * Copies between the data bucket and the bucket of another region. SageMaker reads only from a bucket of its own region,
 * so shards, code and the newest checkpoint are copied there before the job starts. Its results are copied home after it
 * has ended. The data bucket stays the truth. Every copy is safe to repeat: an object that is there is skipped.
 */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { DOCUMENT_FILES } from '@tidewheel/contract/files.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import { eachLimited } from '@tidewheel/kit/limited.ts';
import type { ListedObject, ObjectStore } from '@tidewheel/kit/object-store.ts';
import { readBounded } from '../../records/host-files.ts';
import { readProgress } from '../../records/progress.ts';

export interface RegionCopy {
  readonly pipeline: string;
  readonly runId: string;
  /** The data bucket. */
  readonly home: ObjectStore;
  readonly region: RegionBucket;
  /** Copying then stops, and the next try copies the rest. */
  readonly isOutOfTime: () => boolean;
}

const CONCURRENT_COPIES = 16;

/** @param prefixes of shards and code, each ending with a slash */
export async function copyInputsToRegion(copy: RegionCopy, prefixes: readonly string[]): Promise<void> {
  const { home, region } = copy;
  for (const prefix of prefixes) await copyMissing(copy, { from: home, to: region.store, prefix });
  await copyNewestCheckpoint(copy, home, region.store);
}

/** Copies the newest checkpoint and, after success, the model; `homeUri` gives the model's address there. */
export async function copyResultsBack(copy: RegionCopy): Promise<void> {
  const { home, region, pipeline, runId } = copy;
  await copyNewestCheckpoint(copy, region.store, home);
  const { resumes, allScores, models } = bucketKeys;
  for (const prefix of [resumes, allScores, models].map((keyOf) => keyOf(pipeline, runId)))
    await copyMissing(copy, { from: region.store, to: home, prefix });
}

/** The data bucket's address of an object that `copyResultsBack` has copied. */
export const homeUri = (uri: string, { home, region }: Pick<RegionCopy, 'home' | 'region'>): string => {
  const regionUri = `s3://${region.store.bucket}/`;
  return uri.startsWith(regionUri) ? `s3://${home.bucket}/${uri.slice(regionUri.length)}` : uri;
};

/**
 * Copies only the checkpoint that the progress note proves. Its marker follows its files and the note comes last, so a
 * checkpoint in the other bucket is complete or does not count.
 */
async function copyNewestCheckpoint(copy: RegionCopy, from: ObjectStore, to: ObjectStore): Promise<void> {
  const { pipeline, runId } = copy;
  const newest = await readProgress(from, pipeline, runId);
  if (newest === undefined) return;
  const known = await readProgress(to, pipeline, runId);
  if (known !== undefined && known.step >= newest.step) return;
  const prefix = `${bucketKeys.checkpoints(pipeline, runId)}${newest.checkpoint}`;
  await copyMissing(copy, { from, to, prefix, last: DOCUMENT_FILES.completion });
  await copyMissing(copy, { from, to, prefix: bucketKeys.keptCheckpoints(pipeline, runId) });
  const note = await readBounded(from, bucketKeys.progress(pipeline, runId), 'note');
  if (note !== undefined) await to.writeText(bucketKeys.progress(pipeline, runId), note.text);
}

interface PrefixCopy {
  readonly from: ObjectStore;
  readonly to: ObjectStore;
  readonly prefix: string;
  /** The name of an object that is copied after all others. */
  readonly last?: string | undefined;
}

async function copyMissing(copy: RegionCopy, { from, to, prefix, last }: PrefixCopy): Promise<void> {
  const there = new Map<string, ListedObject>();
  for await (const object of to.list(prefix)) there.set(object.key, object);
  const first: ListedObject[] = [];
  const afterwards: ListedObject[] = [];
  for await (const object of from.list(prefix)) {
    const known = there.get(object.key);
    // A script may save over its own file, and the new one may have the same size.
    if (known?.size === object.size && known.lastModified >= object.lastModified) continue;
    (last !== undefined && object.key.endsWith(`/${last}`) ? afterwards : first).push(object);
  }
  await copyAll(copy, first, from, to);
  await copyAll(copy, afterwards, from, to);
}

async function copyAll(
  { region, isOutOfTime }: RegionCopy,
  objects: readonly ListedObject[],
  from: ObjectStore,
  to: ObjectStore,
): Promise<void> {
  let left = objects.length;
  await eachLimited(objects, CONCURRENT_COPIES, async (object) => {
    if (isOutOfTime())
      throw new TransientError(
        `${left} of ${objects.length} objects are still to be copied to ${to.bucket}: the next try continues`,
      );
    left -= 1;
    await region.copy(object, from, to);
  });
}

// The port to another region's bucket. The adapter is functions/aws/s3/region-buckets.ts.

export type ObjectToCopy = Omit<ListedObject, 'lastModified'>;

export interface RegionBucket {
  readonly name: string;
  /** The bucket of this region, with the data bucket's layout. */
  readonly store: ObjectStore;
  /** Copies between two buckets of the account in any regions, whole or not at all. No byte passes through the caller. */
  copy(object: ObjectToCopy, from: ObjectStore, to: ObjectStore): Promise<void>;
}
