/** The commands of `tidewheel data` about single objects: `contents`, `compare` and `retract`. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { isUnpacked } from '@tidewheel/declaration/packing-settings.ts';
import { own } from '@tidewheel/kit/own-property.ts';
import { retractArchive } from '@tidewheel/packing/bundles.ts';
import { type CompactionInput, compact } from '@tidewheel/packing/compact.ts';
import {
  blobVersions,
  type DatasetVersion,
  newestVersion,
  readPlan,
  readSealedManifest,
  readVersion,
} from '@tidewheel/packing/dataset.ts';
import { isArchive } from '@tidewheel/packing/layout.ts';
import { unfinishedRuns } from '@tidewheel/packing/maintain.ts';
import { compareContents, type HeldObject, versionContents } from '@tidewheel/packing/report.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import { counted } from '../command/format.ts';
import { complain, type DatasetRequest, found, incomingKey, type Outcome, shownSampleKey } from './words.ts';

/** The version that ended with this generation, or the newest one; else what is wrong. */
export async function versionOf(
  { store, pipeline }: Pick<DatasetRequest, 'store' | 'pipeline'>,
  generation: string | undefined,
): Promise<DatasetVersion | string> {
  const versions = blobVersions(store);
  const newest = await newestVersion(versions, pipeline);
  if (newest === undefined)
    return `nothing is sealed under s3://${store.bucket}/${bucketKeys.dataset(pipeline)} yet`;
  if (generation === undefined) return newest;
  const number = own(newest.added, generation);
  if (number === undefined)
    return `${generation} is no generation of ${pipeline}; available: ${Object.keys(newest.added).join(', ')}`;
  const version = await readVersion(versions, pipeline, number);
  const gone = version.generations.filter((name) => newest.pruned.includes(name));
  return gone.length === 0
    ? version
    : `${gone.join(', ')} of the version of ${generation} was pruned: name another`;
}

export async function contents(asked: DatasetRequest): Promise<Outcome> {
  const version = await versionOf(asked, asked.generation);
  if (typeof version === 'string') return complain(version);
  const { store, pipeline, tell } = asked;
  const objects = await versionContents(store, pipeline, version);
  for (const { key, generation, shard, digest } of objects)
    tell(`${digest}  ${placeOf(generation, shard)}  ${shownSampleKey(pipeline, key)}`);
  return found({
    pipeline,
    generations: version.generations,
    objects: objects.map(({ key, generation, shard, digest }) => ({ key, generation, shard, digest })),
  });
}

const placeOf = (generation: string, shard: string | undefined): string =>
  shard === undefined ? generation : `${generation}/${shard}`;

/** From the version of the first generation to that of the second, or the newest one. */
export async function compare(asked: DatasetRequest): Promise<Outcome> {
  const held: (readonly HeldObject[])[] = [];
  const [first, second] = asked.words;
  for (const generation of [first, second]) {
    const version = await versionOf(asked, generation);
    if (typeof version === 'string') return complain(version);
    held.push(await versionContents(asked.store, asked.pipeline, version));
  }
  const [before = [], after = []] = held;
  const changes = compareContents(before, after);
  for (const kind of ['added', 'replaced', 'retracted'] as const)
    for (const key of changes[kind]) asked.tell(`${kind}  ${shownSampleKey(asked.pipeline, key)}`);
  asked.tell(
    `${changes.added.length} added, ${changes.replaced.length} replaced, ${changes.retracted.length} retracted; ${after.length} objects`,
  );
  const { added, replaced, retracted } = changes;
  return found({ pipeline: asked.pipeline, added, replaced, retracted, objects: after.length });
}

/** A retraction is noted even if no version holds the key: a run in progress may. */
export async function retract(
  { store, pipeline, words, tell }: DatasetRequest,
  input: CompactionInput,
): Promise<Outcome> {
  const asked = words.map((word) => incomingKey(pipeline, word));
  const archives = await retractArchives(store, pipeline, asked);
  const wanted = new Set(asked.flatMap((key) => archives.get(key) ?? [key]));
  const contents = async (): Promise<readonly HeldObject[]> => {
    const version = await versionOf({ store, pipeline }, undefined);
    return typeof version === 'string' ? [] : versionContents(store, pipeline, version);
  };
  const before = (await contents()).filter(({ key }) => wanted.has(key));
  if (isUnpacked(input.packing)) return retractFiles({ store, pipeline, tell }, input, wanted);
  const how = { ...input, after: 'never' } as const;
  let result = await compact(store, { ...how, retracted: wanted });
  if (result.status === 'superseded') result = await compact(store, how);
  const left = await contents();
  if (result.status === 'superseded' || left.some(({ key }) => wanted.has(key)))
    return complain('another compaction or a prune was faster. Nothing is lost: run the command again');
  const { generation, of } = result.status === 'compacted' ? result : { generation: undefined, of: [] };
  const held = new Set(before.map(({ key }) => key));
  if (held.size > 0)
    tell(
      `${counted(held.size, 'object')} retracted: no shard of ${generation ?? 'a later generation'} or of the newest version holds them. The old shards of ${of.join(', ')} do until tidewheel data prune ${pipeline} --replaced. Delete the objects under ${bucketKeys.incoming(pipeline)} too`,
    );
  const sameBytes = keysWithBytesOf(before, left);
  if (sameBytes.length > 0)
    tell(
      `The same bytes stay under other keys, so retract these too where the bytes must go: ${sameBytes.map((key) => shownSampleKey(pipeline, key)).join(', ')}`,
    );
  const unknown = asked.filter((key) => !held.has(key) && !archives.has(key));
  const code = unknown.length === 0 ? 0 : await tellUnknown({ store, pipeline, tell }, unknown);
  return code === 0 ? found({ pipeline, retracted: [...wanted], sameBytes, generation, of }) : code;
}

/** @returns the files of each archive that was unpacked, by its key */
async function retractArchives(
  store: BlobStore,
  pipeline: string,
  keys: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const files = new Map<string, readonly string[]>();
  for (const key of keys.filter(isArchive)) {
    const members = await retractArchive(store, pipeline, key);
    if (members.length > 0) files.set(key, members);
  }
  return files;
}

/** Each run seals a whole list, so the next one leaves them out. */
async function retractFiles(
  { store, pipeline, tell }: Pick<DatasetRequest, 'store' | 'pipeline' | 'tell'>,
  input: CompactionInput,
  retracted: ReadonlySet<string>,
): Promise<Outcome> {
  await compact(store, { ...input, retracted });
  tell(
    `${counted(retracted.size, 'file')} retracted: the next run seals a version without, and so do all after it (tidewheel run ${pipeline}). Delete under ${bucketKeys.incoming(pipeline)} too what must go`,
  );
  return found({ pipeline, retracted: [...retracted] });
}

/** @param keys that no version holds @returns the exit code */
async function tellUnknown(
  { store, pipeline, tell }: Pick<DatasetRequest, 'store' | 'pipeline' | 'tell'>,
  keys: readonly string[],
): Promise<number> {
  const runs: string[] = [];
  for (const run of await unfinishedRuns(store, pipeline)) {
    const { objects = 0 } = (await readPlan(store, { pipeline, runId: run })) ?? {};
    if (objects > 0 && (await readSealedManifest(store, pipeline, run)) === undefined) runs.push(run);
  }
  const missing = `the newest version holds no ${keys.map((key) => shownSampleKey(pipeline, key)).join(', ')}`;
  if (runs.length === 0)
    return complain(
      `${missing}, and no run is packing: see npx --no-install tidewheel data contents ${pipeline} for the keys. Delete under ${bucketKeys.incoming(pipeline)} what is not to be packed`,
    );
  tell(
    `${missing}. The retraction is noted: ${runs.join(', ')} leaves out what it has planned of it. Delete under ${bucketKeys.incoming(pipeline)} what it has not`,
  );
  return 0;
}

/** Of the objects with a SHA-256, which is all that stands for their bytes. */
function keysWithBytesOf(retracted: readonly HeldObject[], left: readonly HeldObject[]): string[] {
  const digests = new Set(retracted.map(({ digest }) => digest).filter((digest) => digest.length === 64));
  return left.flatMap(({ key, digest }) => (digests.has(digest) ? [key] : []));
}
