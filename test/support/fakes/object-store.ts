/** The bucket in memory, with S3's order (UTF-8 bytes), conditions and whole-second dates. */

import { createHash } from 'node:crypto';
import type { Clock } from '@tidewheel/kit/clock.ts';
import type { ListedObject, ObjectStore } from '@tidewheel/kit/object-store.ts';
import { compareKeys } from '@tidewheel/packing/bundles.ts';

interface Held {
  readonly bytes: Uint8Array;
  readonly etag: string;
  readonly lastModified: Date;
}

export interface MemoryObjectStore extends ObjectStore {
  /** @param lastModified a multipart upload bears the date of its start, not of its end */
  put(key: string, content: string | Uint8Array, lastModified?: Date): void;
  remove(key: string): void;
  keys(prefix?: string): string[];
  json(key: string): unknown;
}

export function memoryObjectStore(clock: Clock, bucket = 'memory-bucket'): MemoryObjectStore {
  const objects = new Map<string, Held>();
  const put = (key: string, content: string | Uint8Array, lastModified = clock.now()) => {
    const seconds = Math.floor(lastModified.getTime() / 1_000);
    const etag = createHash('md5').update(content).digest('hex');
    const bytes = Buffer.from(content);
    objects.set(key, { bytes, etag, lastModified: new Date(seconds * 1_000) });
  };
  const textOf = (key: string) => {
    const held = objects.get(key);
    return held && Buffer.from(held.bytes).toString('utf8');
  };
  const create = (key: string, content: string | Uint8Array): Promise<'written' | 'exists'> => {
    if (objects.has(key)) return Promise.resolve('exists');
    put(key, content);
    return Promise.resolve('written');
  };
  const keys = (prefix = '') => [...objects.keys()].filter((key) => key.startsWith(prefix)).sort(compareKeys);
  const store = {
    bucket,
    put,
    keys,
    remove: (key) => {
      objects.delete(key);
    },
    json: (key) => JSON.parse(textOf(key) ?? 'null') as unknown,
    readText: (key, mostBytes = Number.POSITIVE_INFINITY) => {
      const held = objects.get(key);
      if (held === undefined || held.bytes.length > mostBytes) return Promise.resolve(undefined);
      const { bytes: _, ...version } = held;
      return Promise.resolve({ text: textOf(key) ?? '', ...version });
    },
    readBytes: (key) => Promise.resolve(objects.get(key)),
    writeText: (key, text) => {
      put(key, text);
      return Promise.resolve();
    },
    delete: (key) => {
      objects.delete(key);
      return Promise.resolve();
    },
    createText: create,
    replaceText: (key, text, etag) => {
      if (objects.get(key)?.etag !== etag) return Promise.resolve('changed');
      put(key, text);
      return Promise.resolve('written');
    },
    digestOf: (key) => {
      const held = objects.get(key);
      return Promise.resolve(held && createHash('sha256').update(held.bytes).digest('hex'));
    },
    createBytes: create,
    list: (prefix) => listing(keys(prefix), objects),
    listFolders: (prefix) => {
      const suffixes = keys(prefix).map((key) => key.slice(prefix.length));
      const folders = suffixes
        .filter((suffix) => suffix.includes('/'))
        .map((suffix) => suffix.split('/', 1)[0] ?? '');
      return Promise.resolve([...new Set(folders)]);
    },
  } satisfies MemoryObjectStore;
  return store;
}

async function* listing(
  keys: readonly string[],
  objects: ReadonlyMap<string, Held>,
): AsyncIterable<ListedObject> {
  for (const key of keys) {
    const held = objects.get(key);
    if (held === undefined) continue;
    const { bytes, etag, lastModified } = held;
    yield await Promise.resolve({ key, size: bytes.length, etag, lastModified });
  }
}
