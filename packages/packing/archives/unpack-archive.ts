/**
 * Makes the files of an archive arrivals, or says why not. A process may die at any line and a second one may do the same
 * at the same time: names follow from the archive's version, and the first note of an end decides.
 */

import { belowIncoming, bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { ConfigurationError } from '@tidewheel/kit/errors.ts';
import { bundleKeys } from '../arrivals/bundle-place.ts';
import { isRetractedSince, noteRetraction } from '../arrivals/retractions.ts';
import { type BlobStore, listPages, UnreadableBlobError } from '../documents/blob-store.ts';
import { unpackedKind } from '../documents/member-names.ts';
import {
  ARCHIVE_BOUNDS,
  type ArchiveBounds,
  ArchiveMeter,
  ArchiveRefusedError,
  UNPACKED_KINDS,
} from './archive-bounds.ts';
import { ArchiveBytes, ArchiveChangedError } from './archive-bytes.ts';
import { archiveEntries } from './archive-entries.ts';
import { ArchiveMembers } from './archive-members.ts';
import {
  type ArchiveNote,
  type ArchiveObject,
  archivedMembers,
  archiveNoteKeys,
  archiveNotes,
  readArchiveNote,
  writeMembers,
  writeNote,
} from './archive-notes.ts';

export interface UnpackRules {
  readonly pipeline: string;
  /** Keys below incoming/ that the service reads as objects of their own. */
  readonly apart: readonly string[];
  readonly shuffle: boolean;
}

export interface UnpackDeps {
  readonly store: BlobStore;
  /** Milliseconds. */
  readonly now: () => number;
  readonly bounds?: ArchiveBounds;
}

/** Processes that died with it before it is refused: most had too little memory, or time. */
const MOST_TRIES = 3;

/** @returns its end; undefined if it was replaced or deleted meanwhile */
export async function unpackArchive(
  deps: UnpackDeps,
  rules: UnpackRules,
  archive: ArchiveObject,
): Promise<ArchiveNote | undefined> {
  const { store } = deps;
  const keys = archiveNoteKeys(rules.pipeline, archive);
  const before = await readArchiveNote(store, keys.begun);
  const ended = await readArchiveNote(store, keys.ended);
  const begun = before ?? { ...EMPTY, key: archive.key, etag: archive.etag, state: 'begun' };
  if (ended !== undefined) return finish(store, rules.pipeline, begun, ended);
  try {
    if (begun.tries >= MOST_TRIES)
      throw new ArchiveRefusedError('died', `${begun.tries} processes died while they unpacked it`);
    return await unpackWhole(deps, rules, archive, begun);
  } catch (error: unknown) {
    if (error instanceof ArchiveRefusedError) return refuse(store, rules.pipeline, archive, error);
    const last = (await readArchiveNote(store, keys.begun)) ?? begun;
    if (error instanceof ArchiveChangedError) {
      await discard(store, rules.pipeline, last.bundles);
      await store.delete(keys.begun);
      return undefined;
    }
    await writeNote(store, keys.begun, { ...last, tries: begun.tries });
    if (!(error instanceof UnreadableBlobError)) throw error;
    throw new ConfigurationError(
      `${archive.key} is to be unpacked, but S3 refuses to have it read (${error.code}): permit or restore it, then retry the run`,
      { cause: error },
    );
  }
}

const EMPTY = { tries: 0, bundles: [], files: 0 } as const;

async function unpackWhole(
  { store, now, bounds = ARCHIVE_BOUNDS }: UnpackDeps,
  { pipeline, apart, shuffle }: UnpackRules,
  archive: ArchiveObject,
  begun: ArchiveNote,
): Promise<ArchiveNote> {
  const keys = archiveNoteKeys(pipeline, archive);
  const incoming = bucketKeys.incoming(pipeline);
  const former = (await archiveNotes(store, pipeline, archive.key)).filter(
    ({ etag }) => etag !== archive.etag,
  );
  const meter = new ArchiveMeter(bounds, archive.size, now);
  const note = (bundles: readonly string[]): Promise<unknown> =>
    writeNote(store, keys.begun, {
      ...begun,
      tries: begun.tries + 1,
      bundles: [...new Set([...begun.bundles, ...bundles])],
    });
  await note([]);
  if (await isRetractedSince(store, pipeline, archive)) throw retracted();
  const members = new ArchiveMembers(store, {
    pipeline,
    owner: JSON.stringify([archive.key, archive.etag]),
    archive: belowIncoming(pipeline, archive.key),
    prefixBytes: Buffer.byteLength(incoming),
    depth: bounds.depth,
    apart,
    shuffle,
    note,
    see: (bytes) => meter.add(bytes),
  });
  await addAll(store, archive, { members, meter });
  await members.flush();
  await writeMembers(
    store,
    keys.members,
    [...members.names.keys].map((key) => incoming + key),
  );
  const there = await store.head(archive.key);
  if (there?.etag !== archive.etag) throw new ArchiveChangedError(`${archive.key} was replaced or deleted`);
  await members.commit();
  // What the version before had and this one has not counts as deleted.
  for (const one of former) {
    await discard(store, pipeline, one.bundles);
    await store.delete(archiveNoteKeys(pipeline, one).ended);
  }
  const end: ArchiveNote = {
    ...begun,
    state: 'unpacked',
    bundles: members.bundles,
    files: meter.files,
  };
  if ((await writeNote(store, keys.ended, end, 'absent')) === 'refused')
    return finish(store, pipeline, end, (await readArchiveNote(store, keys.ended)) ?? end);
  // A person notes a retraction before looking for this end: one of both sees the other.
  if (await isRetractedSince(store, pipeline, archive)) throw retracted();
  return finish(store, pipeline, begun, end);
}

const retracted = (): ArchiveRefusedError => new ArchiveRefusedError('retracted', 'it is retracted');

async function addAll(
  store: BlobStore,
  archive: ArchiveObject,
  { members, meter }: { readonly members: ArchiveMembers; readonly meter: ArchiveMeter },
): Promise<void> {
  const kind = unpackedKind(archive.key);
  if (kind === undefined) throw new ArchiveRefusedError('method', UNPACKED_KINDS);
  for await (const entry of archiveEntries(new ArchiveBytes(store, archive), kind)) {
    meter.file();
    await members.add(entry);
  }
  if (meter.files === 0) throw new ArchiveRefusedError('damaged', 'it has no file');
}

async function refuse(
  store: BlobStore,
  pipeline: string,
  archive: ArchiveObject,
  { reason, message: why }: ArchiveRefusedError,
): Promise<ArchiveNote> {
  const { key, etag } = archive;
  const keys = archiveNoteKeys(pipeline, archive);
  const begun = await readArchiveNote(store, keys.begun);
  const isRetracted = reason === 'retracted';
  const state = isRetracted ? 'retracted' : 'archiveRefused';
  const end: ArchiveNote = { ...EMPTY, key, etag, state, why };
  const written = await writeNote(store, keys.ended, end, isRetracted ? undefined : 'absent');
  const first = written === 'written' ? end : ((await readArchiveNote(store, keys.ended)) ?? end);
  // A fault of an earlier version is not said again.
  for (const one of await archiveNotes(store, pipeline, key))
    if (one.etag !== etag && one.state === 'archiveRefused')
      await store.delete(archiveNoteKeys(pipeline, one).ended);
  return finish(store, pipeline, begun ?? end, first);
}

/** Deletes what was written and is not part of the end. */
async function finish(
  store: BlobStore,
  pipeline: string,
  begun: ArchiveNote,
  ended: ArchiveNote,
): Promise<ArchiveNote> {
  await discard(
    store,
    pipeline,
    begun.bundles.filter((id) => !ended.bundles.includes(id)),
  );
  await store.delete(archiveNoteKeys(pipeline, ended).begun);
  return ended;
}

/** The index goes first: without it there is no bundle. */
async function discard(store: BlobStore, pipeline: string, bundles: readonly string[]): Promise<void> {
  for (const id of bundles) {
    const { data, index } = bundleKeys(pipeline, id);
    await store.delete(index);
    await store.delete(data);
  }
}

/**
 * A person retracts it: its files are arrivals no more.
 * @returns the keys of the files that any version of it had, to be left out of the dataset
 */
export async function retractArchive(
  store: BlobStore,
  pipeline: string,
  key: string,
): Promise<readonly string[]> {
  // A function that unpacks it at this moment looks for the retraction at the end.
  await noteRetraction(store, pipeline, [key]);
  for (const note of await archiveNotes(store, pipeline, key)) {
    await discard(store, pipeline, note.bundles);
    const end: ArchiveNote = { ...note, ...EMPTY, state: 'retracted', why: 'it is retracted' };
    await writeNote(store, archiveNoteKeys(pipeline, note).ended, end);
  }
  return archivedMembers(store, pipeline, key);
}

/** Its owner has deleted it, and deletions count. @param folder of its notes */
export async function forgetArchive(store: BlobStore, pipeline: string, folder: string): Promise<void> {
  const keys: string[] = [];
  for await (const { objects } of listPages(store, folder)) keys.push(...objects.map(({ key }) => key));
  for (const key of keys.filter((one) => one.endsWith('.json'))) {
    const note = await readArchiveNote(store, key);
    if (note !== undefined) await discard(store, pipeline, note.bundles);
  }
  await store.deleteMany(keys);
}
