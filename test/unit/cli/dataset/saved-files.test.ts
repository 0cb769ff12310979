/** What a script has saved where it ran, fetched as its model. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, expect, it } from 'vitest';
import { fetchSavedFiles } from '../../../../cli/dataset/save-object.ts';
import { folderOfTest } from '../../../support/folders.ts';
import { type Ground, ground } from '../../../support/world/ground.ts';

const PREFIX = bucketKeys.checkpoints('pets', 'pets-000001');
let folder: string;
let at: Ground;

beforeEach(() => {
  folder = folderOfTest('saved');
  at = ground();
});

it('is fetched without the files of the agent', async () => {
  await at.blobStore.put(`${PREFIX}model.pth`, Buffer.from('weights'));
  await at.blobStore.put(`${PREFIX}logs/a.txt`, Buffer.from('a'));
  await at.blobStore.put(`${PREFIX}tidewheel-series/attempt-1.jsonl`, Buffer.from('{}'));
  expect(await fetchSavedFiles(at.blobStore, PREFIX, folder)).toEqual({
    files: ['logs/a.txt', 'model.pth'],
    bytes: 8,
  });
  expect(await readFile(path.join(folder, 'model.pth'), 'utf8')).toBe('weights');
});

it('is fetched beside the marker of its folder', async () => {
  await at.blobStore.put(PREFIX, Buffer.alloc(0));
  await at.blobStore.put(`${PREFIX}model.pth`, Buffer.from('weights'));
  expect(await fetchSavedFiles(at.blobStore, PREFIX, folder)).toMatchObject({ files: ['model.pth'] });
});

it('stays in its folder', async () => {
  await at.blobStore.put(`${PREFIX}../../outside`, Buffer.from('a'));
  await expect(fetchSavedFiles(at.blobStore, PREFIX, folder)).rejects.toThrow('lies outside');
});
