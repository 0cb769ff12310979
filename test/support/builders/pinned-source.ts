/** What holds of a run's source for any packer, any number of times, at once or after a death: run on the fake and on S3. */

import { createHash } from 'node:crypto';
import { bucketKeys, SOURCE_FILE } from '@tidewheel/contract/bucket-keys.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { describe, expect, it } from 'vitest';
import { pinnedSourceOf } from '../../../functions/launch/source/pin-source.ts';
import { declarationOf, runOf } from './records.ts';

class Death extends Error {
  override readonly name = 'Death';
}

/** Dies at its n-th call, before or after the call has had its effect. */
function mortal(store: ObjectStore, n: number, after: boolean): ObjectStore {
  let calls = 0;
  const dying =
    <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      calls += 1;
      if (calls !== n) return call(...args);
      if (after) await call(...args);
      throw new Death('the process ended');
    };
  return {
    ...store,
    readText: dying((key) => store.readText(key)),
    readBytes: dying((key) => store.readBytes(key)),
    createText: dying((key, text) => store.createText(key, text)),
    createBytes: dying((key, bytes) => store.createBytes(key, bytes)),
  };
}

async function keysOf(store: ObjectStore, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix)) keys.push(key);
  return keys;
}

let pipelines = 0;

/** @param open every test uses a pipeline of its own */
export function pinnedSourceContract(name: string, open: () => Promise<ObjectStore>): void {
  async function lay(files: Readonly<Record<string, string>> = { 'train.py': 'print(1)', 'a/b.py': 'b' }) {
    const store = await open();
    pipelines += 1;
    const pipeline = `source-${pipelines}`;
    const put = async (more: Readonly<Record<string, string>>): Promise<void> => {
      for (const [file, text] of Object.entries(more))
        await store.writeText(bucketKeys.source(pipeline) + file, text);
    };
    await put(files);
    const pin = async (run = 1, by: ObjectStore = store): Promise<string> =>
      (await pinnedSourceOf(by, runOf(pipeline, run, { declaration: declarationOf(pipeline) })))?.digest ??
      '';
    const archives = () => keysOf(store, `${pipeline}/sources/`);
    /** That the archive is whole and the one that its name says. */
    const isWhole = async (digest: string): Promise<boolean> => {
      const stored = await store.readBytes(bucketKeys.packedSource(pipeline, digest) + SOURCE_FILE);
      return stored !== undefined && createHash('sha256').update(stored.bytes).digest('hex') === digest;
    };
    return { store, pipeline, put, pin, archives, isWhole };
  }

  describe(`a source on ${name}`, () => {
    it('is packed once, for every attempt and every run', async () => {
      const { pin, archives, isWhole, pipeline } = await lay();
      const digest = await pin();
      expect([await pin(), await pin(2)]).toEqual([digest, digest]);
      expect(await archives()).toEqual([bucketKeys.packedSource(pipeline, digest) + SOURCE_FILE]);
      expect(await isWhole(digest)).toBe(true);
    });

    it('changes with its folder only for the next run', async () => {
      const { pin, put, archives, isWhole } = await lay();
      const digest = await pin();
      await put({ 'train.py': 'print(2)' });
      expect(await pin()).toBe(digest);
      const next = await pin(2);
      expect(next).not.toBe(digest);
      expect(await isWhole(digest)).toBe(true);
      expect(await archives()).toHaveLength(2);
    });

    it('is one, where several pack it at once', async () => {
      const { pin, put, isWhole } = await lay();
      const early = Array.from({ length: 4 }, () => pin().catch((error: unknown) => error));
      await put({ 'train.py': 'print(2)' });
      const late = Array.from({ length: 4 }, () => pin().catch((error: unknown) => error));
      const said = await Promise.all([...early, ...late]);
      // Who has read the folder while it changed says so, and is tried again.
      const digests = new Set(said.filter((one) => !(one instanceof TransientError)));
      const settled = await pin();
      expect([...digests]).toEqual([settled]);
      expect(await isWhole(settled)).toBe(true);
    });

    // Six calls: the note, two files, the archive, the note, and what it says then.
    it.each([1, 2, 3, 4, 5, 6])('is the same after a death at call %i', async (n) => {
      for (const after of [false, true]) {
        const { store, pin, put, isWhole } = await lay();
        await expect(pin(1, mortal(store, n, after))).rejects.toThrow(Death);
        await put({ 'train.py': 'print(2)' });
        const digest = await pin();
        expect(await isWhole(digest)).toBe(true);
        expect(await pin()).toBe(digest);
      }
    });

    it('is refused whole, with nothing written, when unpackable', async () => {
      const { pin, archives, store, pipeline } = await lay({ 'other.py': '', 'x/y\u0007': '' });
      await expect(pin()).rejects.toThrow(/holds control characters.*train\.py is not under/s);
      expect(await archives()).toEqual([]);
      expect(await keysOf(store, bucketKeys.runs(pipeline))).toEqual([]);
    });
  });
}
