/** Which generations a report compares: the version that a generation made, and the one before it. */
import type { BlobStore } from '../model/blob-store.ts';
import type { Manifest } from '../model/manifest.ts';
import {
  batchOf,
  blobVersions,
  type DatasetVersion,
  newestVersion,
  readVersion,
  type VersionStore,
} from '../model/versions.ts';
import { heldFor } from './held.ts';

export interface VersionPair {
  readonly before: readonly string[];
  readonly now: readonly string[];
}

/**
 * @param skipsHeld a version that is held back does not count as the one before: otherwise the next run would take the
 * data that this one held
 */
export async function versionPair(
  store: BlobStore,
  { pipeline, generation }: Pick<Manifest, 'pipeline' | 'generation'>,
  skipsHeld: boolean,
): Promise<VersionPair> {
  const chain = blobVersions(store);
  const newest = await newestVersion(chain, pipeline);
  if (newest === undefined) return { before: [], now: [generation] };
  const read = (one: number): Promise<DatasetVersion> => readVersion(chain, pipeline, one);
  const generationsOf = async (one: number): Promise<readonly string[]> =>
    one === 0 ? [] : (await read(one)).generations;
  // A generation with corrections is in no version before a compaction.
  const number = newest.added[generation] ?? newest.number + 1;
  let before = number - 1;
  while (skipsHeld && before > 0 && (await isHeld(chain, pipeline, await read(before)))) before -= 1;
  // The compaction that added a correction has joined it. The report speaks of the generation as it was sealed.
  const made = await generationsOf(Math.min(number, newest.number));
  const isJoined = number <= newest.number && !made.includes(generation);
  const now = isJoined ? await generationsOf(number - 1) : made;
  return {
    before: await generationsOf(before),
    now: now.includes(generation) ? now : [...now, generation].sort((a, b) => batchOf(a) - batchOf(b)),
  };
}

async function isHeld(store: VersionStore, pipeline: string, { change }: DatasetVersion): Promise<boolean> {
  return 'generation' in change && (await heldFor(store, pipeline, change.generation)).length > 0;
}
