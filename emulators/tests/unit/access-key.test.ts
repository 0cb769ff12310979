/** The key of a region: made once in its state folder, for its owner only. */
import { readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { folderOfTest } from '../../../test/support/folders.ts';
import { ACCESS_KEY_FILE, accessKeyIn } from '../../access/access-key.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = folderOfTest('key');
  file = path.join(folder, 'state', ACCESS_KEY_FILE);
});

it('is made once and stays the same', async () => {
  const first = await accessKeyIn(file);
  expect(first.accessKeyId).toMatch(/^LOCAL[A-Z2-7]{15}$/);
  expect(first.secretAccessKey).toMatch(/^[A-Z2-7]{40}$/);
  expect(await accessKeyIn(file)).toEqual(first);
  expect(await readdir(path.dirname(file))).toEqual([ACCESS_KEY_FILE]);
});

it('is readable for its owner only', async () => {
  await accessKeyIn(file);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

it('is the same for starts at the same moment', async () => {
  const keys = await Promise.all(Array.from({ length: 8 }, () => accessKeyIn(file)));
  expect(new Set(keys.map(({ accessKeyId }) => accessKeyId)).size).toBe(1);
});

it('differs from region to region', async () => {
  const keys = await Promise.all(
    Array.from({ length: 50 }, (_, region) => accessKeyIn(path.join(folder, `${region}`, ACCESS_KEY_FILE))),
  );
  expect(new Set(keys.map(({ accessKeyId }) => accessKeyId)).size).toBe(50);
  expect(new Set(keys.map(({ secretAccessKey }) => secretAccessKey)).size).toBe(50);
});

it.each(['', '{}', '{"accessKeyId":"short","secretAccessKey":"x"}', 'no JSON'])(
  'refuses a file that holds %j',
  async (content) => {
    await accessKeyIn(file);
    await writeFile(file, content);
    await expect(accessKeyIn(file)).rejects.toThrow(`${file} holds no access key: remove it`);
  },
);
