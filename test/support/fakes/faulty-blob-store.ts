/** A store whose calls fail by a seed: before they take effect, or after it, when only the answer is lost. */

import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';

export class Killed extends Error {
  override readonly name = 'Killed';
}

/** @param rate of calls that fail, 0 to 1 */
export function faultyStore(store: BlobStore, seed: string, rate: number): BlobStore {
  const chance = seededUniform(seed);
  const fail = async <T>(call: () => Promise<T>): Promise<T> => {
    if (chance() >= rate) return call();
    const effect = chance() < 0.5;
    if (effect) await call();
    throw new Killed(effect ? 'the answer was lost' : 'the call was never made');
  };
  return {
    bucket: store.bucket,
    listPage: (prefix, options) => fail(() => store.listPage(prefix, options)),
    get: (key, options) => fail(() => store.get(key, options)),
    head: (key) => fail(() => store.head(key)),
    wholeCheck: (key, etag) => fail(() => store.wholeCheck(key, etag)),
    put: (key, body, options) => fail(() => store.put(key, body, options)),
    delete: (key, etag) => fail(() => store.delete(key, etag)),
    deleteMany: (keys) => fail(() => store.deleteMany(keys)),
    createUpload: (key, sum) => fail(() => store.createUpload(key, sum)),
    uploadPart: (upload, part, body) => fail(() => store.uploadPart(upload, part, body)),
    copyPart: (upload, part, source) => fail(() => store.copyPart(upload, part, source)),
    completeUpload: (upload, parts) => fail(() => store.completeUpload(upload, parts)),
    abortUpload: (upload) => fail(() => store.abortUpload(upload)),
  };
}

/**
 * Starts over after every death. After sixty of them, they become rare.
 * @returns how often it died
 */
export async function persist(
  store: BlobStore,
  seed: string,
  work: (faulty: BlobStore) => Promise<unknown>,
  rate = 0.05,
): Promise<number> {
  for (let attempt = 0; attempt < 400; attempt += 1)
    try {
      await work(faultyStore(store, `${seed}/${attempt}`, attempt < 60 ? rate : rate / 10));
      return attempt;
    } catch (error: unknown) {
      if (!(error instanceof Killed)) throw error;
    }
  throw new Error('it never came through');
}
