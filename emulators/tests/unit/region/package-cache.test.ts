/** Packages of the service, kept between deployments. */
import { mkdtemp, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { folderOfTest } from '../../../../test/support/folders.ts';
import { packageOnce } from '../../../region/package-cache.ts';

let project: string;
beforeEach(() => {
  project = folderOfTest('packages');
});

async function made(content: string): Promise<string> {
  const folder = await mkdtemp(join(project, 'made-'));
  await writeFile(join(folder, 'api.zip'), content);
  return folder;
}

/** Makes the package, or finds it kept. */
const packaged = (digest: string, make: () => Promise<string>, onWait = (_pid?: number): void => undefined) =>
  packageOnce({ projectFolder: project, digest, make, onWait });

const kept = (digest: string) => packaged(digest, () => made(digest));

const refuse = () => Promise.reject(new Error('packaged again'));

it('is found by the digest of its content', async () => {
  const folder = await packaged('one', () => made('first'));
  expect(await packaged('one', refuse)).toBe(folder);
  await expect(packaged('two', refuse)).rejects.toThrow('packaged again');
  expect(await readFile(join(folder, 'api.zip'), 'utf8')).toBe('first');
});

it('is made by one of two starts at once', async () => {
  const begun = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const first = packaged('one', async () => {
    begun.resolve();
    await mayEnd.promise;
    return made('first');
  });
  await begun.promise;
  const waited = Promise.withResolvers<number | undefined>();
  const second = packaged('one', refuse, waited.resolve);
  expect(await waited.promise).toBe(process.pid);
  mayEnd.resolve();
  expect(await second).toBe(await first);
});

it('is made again where the first start fails', async () => {
  await expect(packaged('one', refuse)).rejects.toThrow();
  expect(await readdir(await kept('one'))).toEqual(['api.zip']);
});

it('leaves when three others were used later', async () => {
  const cache = join(project, '.tidewheel', 'packages');
  for (const [index, digest] of ['a', 'b', 'c'].entries()) {
    await kept(digest);
    await utimes(join(cache, digest), index + 1, index + 1);
  }
  await packaged('a', refuse);
  await kept('d');
  expect((await readdir(cache)).sort()).toEqual(['a', 'c', 'd']);
});
