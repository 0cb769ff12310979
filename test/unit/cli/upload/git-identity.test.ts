/** The commit of a folder of code, by git itself. */
import { execFileSync } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gitNoteSchema, sourceFingerprint } from '@tidewheel/declaration/script.ts';
import { beforeEach, expect, it } from 'vitest';
import { gitIdentityOf, putSource } from '../../../../cli/upload/source.ts';
import { MemoryBlobStore } from '../../../support/fakes/memory-blob-store.ts';
import { folderOfTest } from '../../../support/folders.ts';

const PREFIX = 'digits/source/';
const NOTE = `${PREFIX}.git/tidewheel.json`;

let folder: string;
const write = (name: string, text: string): Promise<void> => writeFile(path.join(folder, name), text);
const git = (...words: string[]): string =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-C', folder, ...words], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
const identity = (sent: readonly string[] = ['net.py', 'train.py']) =>
  gitIdentityOf({ folder, sent: sent.map((name) => path.join(folder, name)), omit: ['data'] });

beforeEach(async () => {
  folder = path.join(folderOfTest('git'), 'repository/project');
  await mkdir(path.join(folder, 'data'), { recursive: true });
  for (const name of ['train.py', 'net.py', 'data/a.csv']) await write(name, 'a');
  execFileSync('git', ['init', '-q', '-b', 'main', path.dirname(folder)]);
  await write('.gitignore', 'secret.py\n');
  git('add', '.');
  git('commit', '-q', '-m', 'a');
});

it('knows commit and branch of a clean folder', async () => {
  expect(await identity()).toEqual({ commit: git('rev-parse', 'HEAD'), branch: 'main', isDirty: false });
});

it.each([
  ['a changed file', () => write('net.py', 'b')],
  [
    'a staged change',
    async () => {
      await write('net.py', 'b');
      git('add', '.');
    },
  ],
  ['a deleted file', () => rm(path.join(folder, 'gone.py'))],
])('calls %s dirty', async (_, change) => {
  await write('gone.py', '');
  git('add', '.');
  git('commit', '-q', '-m', 'b');
  expect((await identity())?.isDirty).toBe(false);
  await change();
  expect((await identity())?.isDirty).toBe(true);
});

it('calls sent files outside the commit dirty', async () => {
  await write('secret.py', 'a');
  expect((await identity())?.isDirty).toBe(false);
  expect((await identity(['secret.py', 'train.py']))?.isDirty).toBe(true);
});

it('knows dependencies beside the folder', async () => {
  await write('../shared.py', 'a');
  expect((await identity(['train.py', '../shared.py']))?.isDirty).toBe(true);
  git('-C', '..', 'add', '.');
  git('commit', '-q', '-m', 'b');
  expect((await identity(['train.py', '../shared.py']))?.isDirty).toBe(false);
});

it('does not look at data', async () => {
  await write('data/a.csv', 'b');
  await write('data/b.csv', 'b');
  expect((await identity())?.isDirty).toBe(false);
  await rm(path.join(folder, 'data'), { recursive: true });
  expect((await identity())?.isDirty).toBe(false);
});

it('names no branch of a detached head', async () => {
  git('checkout', '-q', '--detach');
  expect(await identity()).toEqual({ commit: git('rev-parse', 'HEAD'), isDirty: false });
});

it('knows nothing without a commit or a repository', async () => {
  await rm(path.join(folder, '../.git'), { recursive: true });
  expect(await identity()).toBeUndefined();
  execFileSync('git', ['init', '-q', path.dirname(folder)]);
  expect(await identity()).toBeUndefined();
});

it('is noted beside the source, for these files', async () => {
  const store = new MemoryBlobStore();
  const send = () =>
    putSource(store, { folder, dependencies: [], omit: ['data'], prefix: PREFIX, dryRun: false });
  expect(await send()).toMatchObject({ added: ['net.py', 'train.py'], removed: [] });
  const note = gitNoteSchema.parse(JSON.parse(store.body(NOTE).toString()));
  const etags = [...store.objects].map(([key, { etag }]) => ({ name: key.slice(PREFIX.length), etag }));
  expect(note).toMatchObject({ branch: 'main', isDirty: false, files: sourceFingerprint(etags) });
  expect(await send()).toMatchObject({ added: [], changed: [], removed: [] });
  await rm(path.join(folder, '../.git'), { recursive: true });
  await send();
  expect(store.keys()).toEqual([`${PREFIX}net.py`, `${PREFIX}train.py`]);
});
