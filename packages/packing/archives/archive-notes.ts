/**
 * What became of each version of an archive. A note of its end is written last, so without one it is unpacked again;
 * the note of its beginning names everything that may have been written, and goes when nothing of it is left over.
 */

import { hash } from 'node:crypto';
import { belowIncoming, bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { mapLimited } from '@tidewheel/kit/limited.ts';
import { kindOf } from '@tidewheel/kit/stored.ts';
import * as z from 'zod';
import { contentEtag } from '../arrivals/bundle-place.ts';
import { ignoredFiles } from '../arrivals/rejected-keys.ts';
import { type BlobStore, joinChunks, type ListedBlob, listPages, readText } from '../documents/blob-store.ts';
import { compress, decompress, linesOf } from '../documents/compressed-lines.ts';
import { DOCUMENT_VERSION, documentVersion, readDocument } from '../documents/documents.ts';
import { isArchive } from '../documents/member-names.ts';

export const archiveObjectSchema = z.object({
  key: z.string(),
  etag: z.string(),
  size: z.number(),
  /** When it arrived, ISO 8601. */
  lastModified: z.string(),
});
/** A version of an archive. */
export type ArchiveObject = Readonly<z.infer<typeof archiveObjectSchema>>;

const noteSchema = z.object({
  version: documentVersion,
  key: z.string(),
  etag: z.string(),
  state: z.enum(['begun', 'unpacked', 'archiveRefused', 'retracted']),
  /** Counts the processes that began and did not end. */
  tries: z.number().int(),
  bundles: z.array(z.string()).readonly(),
  files: z.number().int(),
  /** Why it is refused. */
  why: z.string().optional(),
});
export type ArchiveNote = Readonly<Omit<z.infer<typeof noteSchema>, 'version'>>;

const nameOf = (text: string): string => hash('sha256', text).slice(0, 24);

export const archiveFolder = (pipeline: string, key: string): string =>
  `${bucketKeys.archives(pipeline)}${nameOf(key)}/`;

export function archiveNoteKeys(
  pipeline: string,
  { key, etag }: Pick<ArchiveObject, 'key' | 'etag'>,
): { readonly begun: string; readonly ended: string; readonly members: string } {
  const at = `${archiveFolder(pipeline, key)}${nameOf(etag)}`;
  return { begun: `${at}.begun.json`, ended: `${at}.ended.json`, members: `${at}.members.gz` };
}

export async function readArchiveNote(store: BlobStore, key: string): Promise<ArchiveNote | undefined> {
  const text = await readText(store, key);
  if (text === undefined) return undefined;
  const { version: _, ...note } = readDocument(kindOf(noteSchema), key, text);
  return note;
}

/** @param only `absent`: of two processes the first one decides */
export async function writeNote(
  store: BlobStore,
  key: string,
  note: ArchiveNote,
  only?: 'absent',
): Promise<'written' | 'refused'> {
  const body = Buffer.from(JSON.stringify({ version: DOCUMENT_VERSION, ...note }));
  return (await store.put(key, body, { contentType: 'application/json', ...(only && { only }) })).kind;
}

const READS_AT_ONCE = 16;

/** Reads the ends of all versions in a folder. */
async function endedNotes(store: BlobStore, folder: string): Promise<readonly ArchiveNote[]> {
  const keys: string[] = [];
  for await (const { objects } of listPages(store, folder))
    keys.push(...objects.map(({ key }) => key).filter((key) => key.endsWith('.ended.json')));
  const notes = await mapLimited(keys, READS_AT_ONCE, (key) => readArchiveNote(store, key));
  return notes.filter((note) => note !== undefined);
}

export const archiveNotes = (
  store: BlobStore,
  pipeline: string,
  key: string,
): Promise<readonly ArchiveNote[]> => endedNotes(store, archiveFolder(pipeline, key));

/** Which keys are archives to be unpacked. Files that systems and tools leave are none. */
export function isUnpackedBy(
  pipeline: string,
  settings: Pick<PackingSettings, 'archives' | 'ignore'>,
): (key: string) => boolean {
  const isIgnored = ignoredFiles(settings);
  const isDeclared = settings.archives === 'unpack';
  return (key) => isDeclared && isArchive(key) && !isIgnored(belowIncoming(pipeline, key));
}

/** Archives of a listing as arrivals that are not packed. One without an end is left to the next run. */
export async function archivesAsArrivals(
  store: BlobStore,
  pipeline: string,
  isTaken: (key: string) => boolean,
): Promise<(object: ListedBlob) => readonly ListedBlob[]> {
  const notes = await endedNotes(store, bucketKeys.archives(pipeline));
  const states = new Map(notes.map(({ key, etag, state }) => [JSON.stringify([key, etag]), state]));
  return (object) => {
    if (!isTaken(object.key) || contentEtag(object.etag) !== object.etag) return [object];
    const state = states.get(JSON.stringify([object.key, object.etag]));
    return state === undefined || state === 'begun' ? [] : [{ ...object, refused: state }];
  };
}

export async function writeMembers(store: BlobStore, key: string, members: readonly string[]): Promise<void> {
  await store.put(key, compress(members.map((member) => `${JSON.stringify(member)}\n`).join('')));
}

/** The keys of all files that any version of the archive had. */
export async function archivedMembers(
  store: BlobStore,
  pipeline: string,
  key: string,
): Promise<readonly string[]> {
  const members = new Set<string>();
  for await (const { objects } of listPages(store, archiveFolder(pipeline, key)))
    for (const object of objects) {
      if (!object.key.endsWith('.members.gz')) continue;
      const found = await store.get(object.key);
      if (found.kind !== 'found') continue;
      for (const line of linesOf(decompress(joinChunks(found.chunks))))
        members.add(z.string().parse(JSON.parse(line)));
    }
  return [...members];
}
