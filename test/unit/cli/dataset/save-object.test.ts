/** An object in a file, read in pieces. */

import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import { beforeEach, expect, it } from 'vitest';
import { saveObject } from '../../../../cli/dataset/save-object.ts';
import { MemoryBlobStore } from '../../../support/fakes/memory-blob-store.ts';
import { folderOfTest } from '../../../support/folders.ts';

const store = new MemoryBlobStore();
let folder: string;

beforeEach(() => {
  folder = folderOfTest('object');
});

it.each(['', 'a', '0123456789', '012345678'])('holds the bytes of %j', async (body) => {
  store.seed('model', body);
  const file = path.join(folder, 'below/model');
  expect(await saveObject(store, 'model', file, { pieceBytes: 3 })).toBe(body.length);
  expect(await readFile(file, 'utf8')).toBe(body);
});

it('is not made of an object that is missing', async () => {
  expect(await saveObject(store, 'nothing', path.join(folder, 'model'))).toBeUndefined();
  expect(await readdir(folder)).toEqual([]);
});

class ChangingStore extends MemoryBlobStore {
  override get(...asked: Parameters<BlobStore['get']>): ReturnType<BlobStore['get']> {
    this.seed('model', 'later, and longer');
    return super.get(...asked);
  }
}

it('keeps the former file when the object changes', async () => {
  const file = path.join(folder, 'model');
  store.seed('model', 'former');
  await saveObject(store, 'model', file);
  const changing = new ChangingStore();
  changing.seed('model', 'new');
  await expect(saveObject(changing, 'model', file)).rejects.toThrow('another object than before');
  expect(await readdir(folder)).toEqual(['model']);
  expect(await readFile(file, 'utf8')).toBe('former');
});

it('is refused where a later run has replaced it', async () => {
  store.seed('model', 'own');
  const etag = (await store.head('model'))?.etag;
  const file = path.join(folder, 'model');
  expect(await saveObject(store, 'model', file, { etag })).toBe(3);
  store.seed('model', 'evil');
  await expect(saveObject(store, 'model', file, { etag })).rejects.toThrow(
    'was replaced after its run had ended',
  );
  expect(await readFile(file, 'utf8')).toBe('own');
});
