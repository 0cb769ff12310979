/** Packages of the service, kept between deployments. */
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { cachedPackage, keepPackage } from '../../../region/package-cache.ts';

let project: string;
beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), 'tidewheel-packages-'));
});
afterEach(() => rm(project, { recursive: true, force: true }));

async function made(content: string): Promise<string> {
  const folder = await mkdtemp(join(project, 'made-'));
  await writeFile(join(folder, 'api.zip'), content);
  return folder;
}

it('is found by the digest of its content', async () => {
  expect(await cachedPackage(project, 'one')).toBeUndefined();
  const kept = await keepPackage(project, 'one', await made('first'));
  expect(await cachedPackage(project, 'one')).toBe(kept);
  expect(await cachedPackage(project, 'two')).toBeUndefined();
  expect(await readFile(join(kept, 'api.zip'), 'utf8')).toBe('first');
});

it('is the first one of two starts at once', async () => {
  const folders = [await made('first'), await made('second')];
  const kept = await Promise.all(folders.map((folder) => keepPackage(project, 'one', folder)));
  expect(new Set(kept).size).toBe(1);
  expect(await readdir(kept[0] ?? '')).toEqual(['api.zip']);
});

it('leaves when three others were used later', async () => {
  const cache = join(project, '.tidewheel', 'packages');
  await mkdir(cache, { recursive: true });
  for (const [index, digest] of ['a', 'b', 'c'].entries()) {
    await keepPackage(project, digest, await made(digest));
    await utimes(join(cache, digest), index + 1, index + 1);
  }
  await cachedPackage(project, 'a');
  await keepPackage(project, 'd', await made('d'));
  expect((await readdir(cache)).sort()).toEqual(['a', 'c', 'd']);
});
