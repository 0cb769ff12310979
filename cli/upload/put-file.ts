/** Puts one file of this machine into the bucket: at once, or in parts where it is large. */

import { createHash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { sumOf } from '@tidewheel/packing/checksums.ts';
import type { BlobStore, UploadedPart } from '@tidewheel/packing/store.ts';
import type { LocalFile } from './local-files.ts';

const PART_BYTES = 32 * 1024 * 1024;
/** S3's limit. */
const MOST_PARTS = 10_000;

/**
 * @param onBytes called with what has arrived
 * @throws Error where it changed while it was read
 */
export async function putFile(
  store: BlobStore,
  key: string,
  file: LocalFile,
  onBytes: (bytes: number) => void,
): Promise<void> {
  if (file.size <= PART_BYTES) {
    const body = await readFile(file.path);
    if (body.length !== file.size) throw new Error(`${file.name} changed while it was read`);
    await store.put(key, body);
    onBytes(body.length);
    return;
  }
  await putParts(store, key, file, onBytes);
}

async function putParts(
  store: BlobStore,
  key: string,
  file: LocalFile,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const size = Math.max(PART_BYTES, Math.ceil(file.size / MOST_PARTS));
  const upload = await store.createUpload(key, 'crc32');
  const handle = await open(file.path);
  try {
    const parts: UploadedPart[] = [];
    for (let offset = 0; offset < file.size; offset += size) {
      const body = Buffer.alloc(Math.min(size, file.size - offset));
      const { bytesRead } = await handle.read(body, 0, body.length, offset);
      if (bytesRead !== body.length) throw new Error(`${file.name} became shorter while it was read`);
      parts.push(
        await store.uploadPart(upload, { number: parts.length + 1, sum: sumOf('crc32', body) }, body),
      );
      onBytes(body.length);
    }
    await store.completeUpload(upload, parts);
  } catch (error: unknown) {
    // What is left of it would cost storage.
    await store.abortUpload(upload).catch(() => undefined);
    throw error;
  } finally {
    await handle.close();
  }
}

/** As S3 has it for an object that was put at once. */
export const etagOfBody = (body: Uint8Array): string => createHash('md5').update(body).digest('hex');
