/** ObjectStore on S3, for the control plane's small objects. */

import { createHash } from 'node:crypto';
import { PIPELINES_PREFIX } from '@tidewheel/contract/bucket-keys.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import type { ListedObject, ObjectStore, StoredBytes } from '@tidewheel/kit/object-store.ts';
import { listPages } from '@tidewheel/packing/store.ts';
import type { S3BlobStore } from './blob-store.ts';
import { S3Refused } from './errors.ts';

/** @param open the bucket's data path, asked for with the first request */
export function s3ObjectStore(open: () => Promise<S3BlobStore>, bucket: string): ObjectStore {
  const create = async (key: string, content: string | Uint8Array): Promise<'written' | 'exists'> => {
    const { kind } = await (await open()).put(key, Buffer.from(content), { only: 'absent' });
    return kind === 'written' ? 'written' : 'exists';
  };
  return {
    bucket,
    readText: async (key, mostBytes) => {
      const store = await open();
      const stored = key.startsWith(PIPELINES_PREFIX)
        ? await readBegin(store, key)
        : await store.read(key, { mostBytes });
      if (stored === undefined) return undefined;
      const { bytes, ...version } = stored;
      return { text: new TextDecoder().decode(bytes), ...version };
    },
    writeText: async (key, text) => {
      await (await open()).put(key, Buffer.from(text));
    },
    delete: async (key) => {
      await (await open()).delete(key);
    },
    createText: create,
    replaceText: async (key, text, etag) => {
      const { kind } = await (await open()).put(key, Buffer.from(text), { only: { etag } });
      return kind === 'written' ? 'written' : 'changed';
    },
    digestOf: async (key) => digestOf(await open(), key).catch(unlessRefused),
    readBytes: async (key) => (await open()).read(key),
    createBytes: create,
    list: (prefix) => list(open, prefix),
    listFolders: async (prefix) => {
      const folders: string[] = [];
      for await (const { prefixes } of listPages(await open(), prefix, { delimiter: '/' }))
        folders.push(...prefixes.map((each) => each.slice(prefix.length, -1)));
      return folders;
    },
  };
}

/** A person may write a declaration of any length. Its reader refuses one that is longer than this. */
const MOST_DECLARATION_BYTES = 500_000;

async function readBegin(store: S3BlobStore, key: string): Promise<StoredBytes | undefined> {
  const whole = await store.read(key, { mostBytes: MOST_DECLARATION_BYTES });
  return whole ?? store.read(key, { range: { offset: 0, length: MOST_DECLARATION_BYTES } });
}

const DIGEST_STEP_BYTES = 16_000_000;

async function digestOf(store: S3BlobStore, key: string): Promise<string | undefined> {
  const { size, etag } = (await store.head(key)) ?? {};
  if (size === undefined || etag === undefined) return undefined;
  const hash = createHash('sha256');
  const readAt = (offset: number) => {
    const range = { offset, length: Math.min(DIGEST_STEP_BYTES, size - offset) };
    return offset < size ? store.read(key, { range, ifMatch: etag }) : undefined;
  };
  let next = readAt(0);
  for (let offset = 0; offset < size; offset += DIGEST_STEP_BYTES) {
    const read = await next;
    if (read === undefined) throw new TransientError(`s3://${store.bucket}/${key} changed while it was read`);
    // It is under way while this one is hashed.
    next = readAt(offset + DIGEST_STEP_BYTES);
    hash.update(read.bytes);
  }
  return hash.digest('hex');
}

/** It lies in an archive, or may not be read. */
function unlessRefused(error: unknown): undefined {
  if (error instanceof S3Refused && error.failure.status === 403) return undefined;
  throw error;
}

async function* list(open: () => Promise<S3BlobStore>, prefix: string): AsyncIterable<ListedObject> {
  for await (const { objects } of listPages(await open(), prefix))
    for (const { key, size, etag, lastModified } of objects)
      yield { key, size, etag, lastModified: new Date(lastModified) };
}
