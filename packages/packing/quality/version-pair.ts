/** Which generations a report compares: the version that a generation made, and the one before it. */
import type { BlobStore } from '../documents/blob-store.ts';
import type { Manifest } from '../documents/manifest.ts';
import {
  batchOf,
  blobVersions,
  type DatasetVersion,
  newestVersion,
  readVersion,
  type VersionStore,
} from '../documents/versions.ts';
import { heldFor } from './held.ts';

export interface VersionPair {
  readonly before: readonly string[];
  readonly now: readonly string[];
  /** Generations between the two that are held back, oldest first. */
  readonly held: readonly string[];
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
  if (newest === undefined) return { before: [], now: [generation], held: [] };
  const read = (one: number): Promise<DatasetVersion> => readVersion(chain, pipeline, one);
  const generationsOf = async (one: number): Promise<readonly string[]> =>
    one === 0 ? [] : (await read(one)).generations;
  // A generation with corrections is in no version before a compaction.
  const number = newest.added[generation] ?? newest.number + 1;
  let before = number - 1;
  const held = new Set<string>();
  for (; skipsHeld && before > 0; before -= 1) {
    const judged = await heldIn(chain, pipeline, { newest: before, read });
    if (judged === undefined) break;
    held.add(judged);
  }
  // The compaction that added a correction has joined it. The report speaks of the generation as it was sealed.
  const made = await generationsOf(Math.min(number, newest.number));
  const isJoined = number <= newest.number && !made.includes(generation);
  const now = isJoined ? await generationsOf(number - 1) : made;
  return {
    before: await generationsOf(before),
    now: now.includes(generation) ? now : [...now, generation].sort((a, b) => batchOf(a) - batchOf(b)),
    held: [...held].reverse(),
  };
}

interface Chain {
  readonly newest: number;
  readonly read: (number: number) => Promise<DatasetVersion>;
}

/** The generation that holds a version back. */
async function heldIn(store: VersionStore, pipeline: string, chain: Chain): Promise<string | undefined> {
  const judged = await judgedGeneration(chain);
  const isHeld = judged !== undefined && (await heldFor(store, pipeline, judged)).length > 0;
  return isHeld ? judged : undefined;
}

/**
 * The generation of a run whose report judged the data of a version. A version that joins, prunes or restores is as the
 * one before, unless a correction came in with it.
 */
async function judgedGeneration({ newest, read }: Chain): Promise<string | undefined> {
  for (let number = newest; number > 0; number -= 1) {
    const { change, added } = await read(number);
    if (change.kind === 'sealed') return change.generation;
    const replaced = change.kind === 'compacted' ? change.replaced : [];
    const corrections = replaced.filter((name) => added[name] === number);
    if (corrections.length > 0) return corrections.sort((a, b) => batchOf(b) - batchOf(a))[0];
  }
  return undefined;
}
