/** `whenDone: delete`: a bundle goes when all of it is packed, and not before. */

import { beforeEach, describe, expect, it } from 'vitest';
import { seedBundle } from '../../../../test/support/builders/bundles.ts';
import { incoming, PIPELINE, packAll, RUN, settings } from '../../../../test/support/builders/packing.ts';
import { persist } from '../../../../test/support/fakes/faulty-blob-store.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import type { BlobStore } from '../../documents/blob-store.ts';
import { deletePacked } from '../../seal/delete-packed.ts';

const NEXT = `${PIPELINE}-000002`;
const SECOND = new Date('2026-01-01T00:00:05Z');

let store: MemoryBlobStore;
beforeEach(() => {
  store = new MemoryBlobStore();
});

const remove = (runId = RUN, of: BlobStore = store) =>
  deletePacked({ store: of, isTimeUp: () => false }, { pipeline: PIPELINE, runId });

describe('a bundle', () => {
  it('goes with its index, by two deletes', async () => {
    seedBundle(store, { 'cat/a.jpg': 'one', 'cat/b.jpg': 'two' });
    store.seed(`${incoming}cat/c.jpg`, 'three');
    await packAll(store, settings());
    let deletes = 0;
    const plain = store.delete.bind(store);
    store.delete = (...words) => {
      deletes += 1;
      return plain(...words);
    };
    expect(await remove()).toEqual({ status: 'done', deleted: 2 });
    expect(store.keys(incoming)).toEqual([]);
    expect(deletes).toBe(3);
  });

  it('stays while one of its files is rejected', async () => {
    const { data, index } = seedBundle(store, { 'cat/a.jpg': 'one', 'cat/b.txt': 'two' });
    await packAll(store, settings({ accept: ['.jpg'] }));
    expect(await remove()).toEqual({ status: 'done', deleted: 0 });
    expect(store.keys(incoming)).toEqual([data, index]);
  });

  it('stays until the last of its files is packed', async () => {
    const packing = settings({ require: ['image', 'json'] });
    seedBundle(store, { 'a.jpg': 'one', 'a.json': '{}', 'b.jpg': 'two' });
    await packAll(store, packing);
    expect(await remove()).toMatchObject({ deleted: 0 });
    store.seed(`${incoming}b.json`, '{}');
    await packAll(store, packing, NEXT);
    expect(await remove(NEXT)).toMatchObject({ deleted: 2 });
    expect(store.keys(incoming)).toEqual([]);
  });

  it('goes although a newer version replaced one file', async () => {
    seedBundle(store, { 'cat/a.jpg': 'old', 'cat/b.jpg': 'two' });
    store.now = () => SECOND;
    seedBundle(store, { 'cat/a.jpg': 'new' });
    await packAll(store, settings());
    expect(await remove()).toMatchObject({ deleted: 2 });
    expect(store.keys(incoming)).toEqual([]);
  });

  it('stays while it hides an older object', async () => {
    const older = `${incoming}cat/a.jpg`;
    store.seed(older, 'old');
    store.now = () => SECOND;
    const { data, index } = seedBundle(store, { 'cat/a.jpg': 'new', 'cat/b.jpg': 'two' });
    await packAll(store, settings());
    expect(await remove()).toMatchObject({ deleted: 0 });
    expect(store.keys(incoming)).toEqual([data, index, older]);
    store.objects.delete(older);
    expect(await remove()).toMatchObject({ deleted: 1 });
    expect(store.keys(incoming)).toEqual([]);
  });

  it('stays where it arrived after the plan', async () => {
    store.seed(`${incoming}cat/a.jpg`, 'one');
    await packAll(store, settings());
    const { data, index } = seedBundle(store, { 'cat/b.jpg': 'two' });
    await remove();
    expect(store.keys(incoming)).toEqual([data, index]);
  });

  it('leaves no index without its data', async () => {
    const { data, index } = seedBundle(store, { 'cat/a.jpg': 'one' });
    await packAll(store, settings());
    const plain = store.delete.bind(store);
    store.delete = (key, ...words) => {
      if (key === index) throw new Error('died');
      return plain(key, ...words);
    };
    await expect(remove()).rejects.toThrow('died');
    expect(store.keys(incoming)).toEqual([index]);
    store.delete = plain;
    await remove();
    expect(store.keys(incoming)).toEqual([]);
    expect(store.objects.has(data)).toBe(false);
  });

  it('goes after any death of the function', async () => {
    for (let number = 0; number < 5; number += 1)
      seedBundle(store, { [`cat/${number}a.jpg`]: 'one', [`cat/${number}b.jpg`]: 'two' });
    await packAll(store, settings());
    await persist(store, 'deletion', (dying) => remove(RUN, dying), 0.1);
    expect(store.keys(incoming)).toEqual([]);
  });
});
