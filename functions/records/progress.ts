/** Reads proven progress: the agent's note counts only if the checkpoint that it names is complete. */

import { hash } from 'node:crypto';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { readDocument, valueOf } from '@tidewheel/contract/document.ts';
import { DOCUMENT_FILES } from '@tidewheel/contract/files.ts';
import {
  completionMarker,
  type FileSizes,
  progressNote,
  type SavedCheckpoint,
} from '@tidewheel/contract/progress.ts';
import type { ListedObject, ObjectStore } from '@tidewheel/kit/object-store.ts';
import type { Progress } from '@tidewheel/placement/records.ts';
import { MOST_LISTED, readBounded, readNote } from './host-files.ts';

/** @returns undefined without a readable note or without all bytes of the checkpoint that it names */
export async function readProgress(
  store: ObjectStore,
  pipeline: string,
  runId: string,
): Promise<Progress | undefined> {
  const note = await readBounded(store, bucketKeys.progress(pipeline, runId), 'note');
  const read = valueOf(readDocument(progressNote, note?.text ?? ''));
  if (read === undefined) return undefined;
  const { files, kept = [], ...progress } = read;
  const folder = bucketKeys.checkpoints(pipeline, runId);
  const savedAt = new Date(progress.updatedAt);
  const trusted = note !== undefined && isMd5(note) ? savedAt : undefined;
  if (!OUR_LAYOUT.test(progress.checkpoint)) {
    const found = await look(store, folder, progress.checkpoint, { files, trusted });
    return found === undefined ? newestKept(store, folder, kept) : { ...progress, ...found };
  }
  return provenByMarker(store, folder, { ...progress, files, trusted });
}

/** The first checkpoint is progress whatever its step: many scripts count their epochs from 0. */
export const advanced = (before: Progress | undefined, after: Progress | undefined): boolean =>
  after !== undefined && (before === undefined || after.step > before.step);

/** Of Tidewheel's own layout: the marker lists all files. */
async function provenByMarker(
  store: ObjectStore,
  folder: string,
  { files, trusted, ...progress }: SavedCheckpoint & { readonly trusted: Date | undefined },
): Promise<Progress | undefined> {
  const path = `${folder}${progress.checkpoint}`;
  const marker = await readBounded(store, `${path}/${DOCUMENT_FILES.completion}`, 'note');
  if (marker === undefined) return undefined;
  const listed = readDocument(completionMarker, marker.text);
  // Markers of other writers may list no files.
  if (listed.kind === 'unreadable') return progress;
  if (listed.kind !== 'read') return undefined;
  const named = Object.entries(listed.value.files).map(([name, file]) => {
    const full = `${progress.checkpoint}/${name}`;
    return [full, { ...file, etag: files?.[full]?.etag }] as const;
  });
  const wanted = { files: Object.fromEntries(named), trusted, isFinal: true };
  const found = comparedIn(await objectsOf(store, folder, Object.keys(wanted.files)), wanted);
  if (found === undefined) return undefined;
  const sizes = Object.values(listed.value.files).map(({ bytes }) => bytes);
  return { ...progress, ...found, checkpointBytes: sizes.reduce((sum, bytes) => sum + bytes, 0) };
}

/** @returns the version of a note whose meaning only a later release knows; undefined for any other, and for none */
export async function newerNoteVersion(
  store: ObjectStore,
  pipeline: string,
  runId: string,
): Promise<number | undefined> {
  const note = await readNote(store, bucketKeys.progress(pipeline, runId), progressNote);
  return note.kind === 'newer' ? note.version : undefined;
}

/** A kill in the middle of a save leaves the newest checkpoint cut off. The agent then restores the last whole one. */
async function newestKept(
  store: ObjectStore,
  folder: string,
  kept: readonly SavedCheckpoint[],
): Promise<Progress | undefined> {
  const named = kept.flatMap(({ files = {} }) => Object.keys(files));
  const there = await objectsOf(store, folder, named);
  const whole = kept.find(({ files }) => files !== undefined && comparedIn(there, { files }) !== undefined);
  if (whole === undefined) return undefined;
  const { files: _, ...progress } = whole;
  return progress;
}

/** Tidewheel's checkpoint folders end with the marker. Layouts of other frameworks have none. */
const OUR_LAYOUT = /^step-\d+$/;

interface Comparison {
  readonly files: FileSizes;
  /** When the checkpoint was complete on the host, if ETags in this bucket are made of MD5s. */
  readonly trusted?: Date | undefined;
  /** The files are never written again. */
  readonly isFinal?: boolean;
}

type Compared = Pick<Progress, 'comparedBy'>;

/** Notes of hosts that did not save, and of very many files, list none: then one object under the name has to do. */
async function look(
  store: ObjectStore,
  folder: string,
  checkpoint: string,
  { files, trusted }: { readonly files: FileSizes | undefined; readonly trusted: Date | undefined },
): Promise<Compared | undefined> {
  if (files !== undefined)
    return comparedIn(await objectsOf(store, folder, Object.keys(files)), { files, trusted });
  const path = `${folder}${checkpoint}`;
  for (const prefix of [`${path}/`, `${path}.`, path])
    for await (const { key } of store.list(prefix)) {
      if (key === path || prefix !== path) return {};
      break;
    }
  return undefined;
}

/** More names than these are looked for in one listing of what they have in common. */
const FEW_PLACES = 32;

/** The objects of these names, by name. A place is what lies directly in the folder: a file, or a folder with all files in it. */
async function objectsOf(
  store: ObjectStore,
  folder: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, ListedObject>> {
  const wanted = new Set(names);
  const found = new Map<string, ListedObject>();
  const places = [...Map.groupBy(wanted, (each) => each.split('/', 1)[0]).values()];
  let listed = 0;
  for (const group of places.length > FEW_PLACES ? [[...wanted]] : places) {
    const missing = new Set(group);
    for await (const object of store.list(folder + commonStart(group))) {
      const each = object.key.slice(folder.length);
      if (missing.delete(each)) found.set(each, object);
      listed += 1;
      if (missing.size === 0 || listed >= MOST_LISTED) break;
    }
  }
  return found;
}

function commonStart([first = '', ...others]: readonly string[]): string {
  let length = first.length;
  for (const other of others) while (!other.startsWith(first.slice(0, length))) length -= 1;
  return first.slice(0, length);
}

/**
 * S3 shows uploads in no order, and an interrupted one leaves files out or with their earlier content.
 *
 * @returns undefined where a file is missing, or is another version than the one that was saved
 */
function comparedIn(there: ReadonlyMap<string, ListedObject>, comparison: Comparison): Compared | undefined {
  const compared = Object.entries(comparison.files).map(([each, { bytes, etag }]) => {
    const object = there.get(each);
    return object?.size === bytes ? compareETag(object, etag, comparison) : 'different';
  });
  if (compared.includes('different')) return undefined;
  return { comparedBy: compared.every((each) => each === 'equal') ? 'checksums' : 'sizes' };
}

/** A script may have saved again over its file, so a later object is a newer version, and no damage. */
function compareETag(
  { etag, lastModified }: ListedObject,
  expected: string | undefined,
  { trusted, isFinal = false }: Omit<Comparison, 'files'>,
): 'equal' | 'different' | 'unknown' {
  if (expected === undefined || trusted === undefined) return 'unknown';
  if (etag === expected) return 'equal';
  const parts = partsOf(etag);
  if (parts !== partsOf(expected)) return 'unknown';
  const isOlder = lastModified.getTime() + CLOCK_MS <= trusted.getTime();
  // How SageMaker cuts large files is not documented, so another cut must not pass for damage.
  const isDifferent = parts === 1 ? isFinal || isOlder : parts >= FEW_PARTS && isOlder;
  return isDifferent ? 'different' : 'unknown';
}

/** 0 for an ETag that is made of no MD5. */
function partsOf(etag: string): number {
  const found = ETAG.exec(etag);
  return found === null ? 0 : Number(found[1] ?? 1);
}

/** Fewer parts may be of another size and yet as many: 12 MiB make two parts of 8 MiB or of 10 MiB. */
const FEW_PARTS = 8;

/** An ETag is made of no MD5 where a KMS key encrypts. The note came as its checkpoint did. */
const isMd5 = ({ text, etag }: { readonly text: string; readonly etag: string }): boolean =>
  hash('md5', text) === etag;

const ETAG = /^[0-9a-f]{32}(?:-([1-9]\d{0,4}))?$/;

/** S3 gives whole seconds, and the host has a clock of its own. */
const CLOCK_MS = 2_000;
