/** Which files of a folder are the code of a pipeline. */
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { putSource } from '../../../../cli/upload/source.ts';
import { MemoryBlobStore } from '../../../support/fakes/memory-blob-store.ts';
import { folderOfTest } from '../../../support/folders.ts';

let folder: string;
beforeEach(() => {
  folder = folderOfTest('source');
});

async function write(...names: readonly string[]): Promise<void> {
  for (const name of names) {
    await mkdir(path.join(folder, path.dirname(name)), { recursive: true });
    await writeFile(path.join(folder, name), name);
  }
}

const put = (dependencies: readonly string[] = []) =>
  putSource(new MemoryBlobStore(), {
    folder: path.join(folder, 'code'),
    dependencies: dependencies.map((name) => path.join(folder, name)),
    omit: ['data'],
    prefix: 'pets/source/',
    dryRun: false,
  });

it('has hidden files, and names what stays', async () => {
  await write(
    'code/train.py',
    'code/.project-root',
    'code/.env.example',
    'code/sub/.here',
    'code/data/1.csv',
  );
  await write('code/.env', 'code/.secrets.toml', 'code/.aws/credentials', 'code/.config/a.yaml');
  await write('code/.git/HEAD', 'code/.gitignore', 'code/.venv/bin/python', 'code/.ruff_cache/a');
  await symlink('sub', path.join(folder, 'code/linked'));
  const { added, leftOut } = await put();
  expect(added.toSorted()).toEqual(['.env.example', '.project-root', 'sub/.here', 'train.py']);
  expect(leftOut.toSorted()).toEqual([
    '.aws (it may hold secrets)',
    '.config (it is a hidden folder)',
    '.env (it may hold secrets)',
    '.secrets.toml (it may hold secrets)',
    'linked (it is a link to a folder)',
  ]);
});

it('has dependencies beside it', async () => {
  await write('code/train.py', 'common/a.py', 'common/.env', 'util.py');
  const { added, leftOut } = await put(['common', 'util.py']);
  expect(added).toEqual(['train.py', 'common/a.py', 'util.py']);
  expect(leftOut).toEqual(['common/.env (it may hold secrets)']);
});

it('names each dependency that cannot be there', async () => {
  await write('code/train.py', 'code/common/b.py', 'common/a.py');
  await expect(put(['common', 'gone'])).rejects.toMatchObject({
    problems: [
      expect.stringContaining('would lie where the source has common: rename one'),
      expect.stringMatching(/there is no .*gone$/),
    ],
  });
});
