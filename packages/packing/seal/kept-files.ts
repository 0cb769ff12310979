/**
 * Copies of sealed files (dataset.keep: versions). The store makes them, so that no byte passes through here. A copy is
 * named by ETag and key, so that a file is copied once, however many generations hold it.
 */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import { eachLimited } from '@tidewheel/kit/limited.ts';
import {
  type BlobStore,
  joinChunks,
  type KeyFailure,
  listPages,
  type OpenUpload,
  sourceFailure,
  type UploadedPart,
} from '../documents/blob-store.ts';
import type { Manifest } from '../documents/manifest.ts';
import type { Deferral } from '../documents/rejections.ts';
import { sealedLines } from '../documents/sealed-lines.ts';
import { sumOf } from '../formats/running-sum.ts';
import { rangesOf } from '../shard/shard-upload.ts';

/** An object as it was sealed. */
export interface SealedFile {
  readonly key: string;
  readonly etag: string;
  readonly size: number;
}

const COPIES_AT_ONCE = 32;
/** Per file. A terabyte is copied within a function's 15 minutes. */
const PARTS_AT_ONCE = 16;
/** S3 copies parts of up to 5 GiB. Smaller ones keep a failed copy short. */
const PART_BYTES = 1024 ** 3;
const PIECE_BYTES = 16 * 1024 ** 2;

/** @returns why files were not copied, by key */
export async function keepFiles(
  store: BlobStore,
  pipeline: string,
  files: Iterable<SealedFile>,
): Promise<ReadonlyMap<string, Deferral>> {
  const kept = await keptSizes(store, pipeline);
  const left = new Map<string, Deferral>();
  await eachLimited(files, COPIES_AT_ONCE, async (file) => {
    const to = bucketKeys.keptFile(pipeline, file);
    if (kept.get(to) === file.size) return;
    const copied = await copyFile(store, file, to);
    if (copied !== 'copied') left.set(file.key, copied === 'missing' ? 'deleted' : copied);
  });
  return left;
}

/** The bytes of each copy, by its key. */
export async function keptSizes(store: BlobStore, pipeline: string): Promise<ReadonlyMap<string, number>> {
  const kept = new Map<string, number>();
  for await (const { objects } of listPages(store, bucketKeys.keptFiles(pipeline)))
    for (const { key, size } of objects) kept.set(key, size);
  return kept;
}

type NotCopied = 'missing' | 'changed' | 'unreadable';
export type FileCopy = 'copied' | NotCopied;

/** Whole or not at all, and only of the object with this ETag. Safe to repeat. @throws TransientError */
export async function copyFile(
  store: BlobStore,
  file: SealedFile,
  to: string,
  partBytes = PART_BYTES,
): Promise<FileCopy> {
  if (file.size === 0) return copyEmpty(store, file, to);
  const upload = await store.createUpload(to, 'crc64nvme');
  const copied = await copyParts(store, upload, { ...file, partBytes });
  const parts = copied === 'unchecked' ? await sendParts(store, upload, file) : copied;
  if (typeof parts === 'string') {
    await store.abortUpload(upload);
    return parts;
  }
  if ((await store.completeUpload(upload, parts)) === 'gone')
    throw new TransientError(`the upload of ${to} is gone: the next try looks whether the copy is there`);
  return 'copied';
}

/** A part holds a byte at least. */
async function copyEmpty(store: BlobStore, { key, etag }: SealedFile, to: string): Promise<FileCopy> {
  const read = await store.get(key, { ifMatch: etag }).catch(sourceFailure);
  if (read.kind !== 'found') return read.kind;
  await store.put(to, new Uint8Array());
  return 'copied';
}

async function copyParts(
  store: BlobStore,
  upload: OpenUpload,
  { partBytes, ...file }: SealedFile & { readonly partBytes: number },
): Promise<UploadedPart[] | NotCopied | 'unchecked'> {
  const parts: UploadedPart[] = [];
  const ranges = rangesOf({ ...file, alone: true }, 0, partBytes);
  for (let first = 0; first < ranges.length; first += PARTS_AT_ONCE) {
    const some = ranges.slice(first, first + PARTS_AT_ONCE);
    const copies = await Promise.all(
      some.map((range, index) =>
        store.copyPart(upload, { number: first + index + 1 }, range).catch(sourceFailure),
      ),
    );
    for (const copied of copies) {
      if (copied.kind === 'found') throw new Error(`${file.key} was read, not copied`);
      if (copied.kind !== 'copied') return copied.kind;
      parts.push(copied.part);
    }
  }
  return parts;
}

/** From a store that copies and does not say what. */
async function sendParts(
  store: BlobStore,
  upload: OpenUpload,
  { key, etag, size }: SealedFile,
): Promise<UploadedPart[] | NotCopied> {
  const parts: UploadedPart[] = [];
  for (let offset = 0; offset < size; offset += PIECE_BYTES) {
    const range = { offset, length: Math.min(PIECE_BYTES, size - offset) };
    const read = await store.get(key, { ifMatch: etag, range }).catch(sourceFailure);
    if (read.kind !== 'found') return read.kind;
    const bytes = joinChunks(read.chunks);
    parts.push(
      await store.uploadPart(upload, { number: parts.length + 1, sum: sumOf(upload.sum, bytes) }, bytes),
    );
  }
  return parts;
}

/**
 * Deletes copies that no generation names any more.
 * @param named the generations that are not pruned
 * @returns how many were deleted, and their bytes
 */
export async function deleteUnnamed(
  store: BlobStore,
  pipeline: string,
  { named, dryRun }: { readonly named: readonly Manifest[]; readonly dryRun: boolean },
): Promise<{ readonly objects: number; readonly bytes: number; readonly failures: readonly KeyFailure[] }> {
  const kept = new Map(await keptSizes(store, pipeline));
  if (kept.size > 0)
    for (const manifest of named)
      for await (const [key, etag, , fate] of sealedLines(store, manifest))
        if (typeof fate === 'number') kept.delete(bucketKeys.keptFile(pipeline, { key, etag }));
  const failures = dryRun ? [] : await store.deleteMany([...kept.keys()]);
  return { objects: kept.size, bytes: [...kept.values()].reduce((sum, size) => sum + size, 0), failures };
}
