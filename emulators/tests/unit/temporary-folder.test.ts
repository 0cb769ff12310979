import { mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import {
  openTemporaryFolder,
  removeTemporaryFolder,
  socketProblem,
} from '@tidewheel/kit/temporary-folder.ts';
import { expect, test } from 'vitest';
import { folderOfSuite } from '../../../test/support/folders.ts';

const ground = folderOfSuite('test');
let counter = 0;

/** A state folder, and a place for temporary files beside it. */
async function places() {
  counter += 1;
  const [state, place] = ['s', 'p'].map((name) => path.join(ground, `${name}${counter}`)) as [string, string];
  for (const folder of [state, place]) await mkdir(folder);
  return { state, place };
}

test('the folder is private and goes with its server', async () => {
  const { state, place } = await places();
  const folder = await openTemporaryFolder(state, [place]);
  expect((await stat(folder.path)).mode & 0o777).toBe(0o700);
  await writeFile(path.join(folder.path, 'left'), '');
  await folder.close();
  await folder.close();
  expect([await readdir(place), await readdir(state)]).toEqual([[], []]);
});

test('a start removes what a killed one left', async () => {
  const { state, place } = await places();
  const killed = await openTemporaryFolder(state, [place]);
  await writeFile(path.join(killed.path, 'left'), '');
  const next = await openTemporaryFolder(state, [place]);
  expect(await readdir(place)).toEqual([path.basename(next.path)]);
  await next.close();
});

test('a folder of another user stays', async () => {
  const { state, place } = await places();
  const precious = path.join(place, 'precious');
  await mkdir(precious);
  await symlink(precious, path.join(place, 'tw-01234567'));
  for (const named of [precious, path.join(place, 'tw-01234567'), `${precious}/../precious`, '', '/']) {
    await writeFile(path.join(state, 'temporary-folder'), named);
    await removeTemporaryFolder(state);
  }
  expect(await readdir(place)).toEqual(['precious', 'tw-01234567']);
});

test('the first short enough place is taken', async () => {
  const { state, place } = await places();
  const deep = path.join(place, 'd'.repeat(90));
  await mkdir(deep);
  const folder = await openTemporaryFolder(state, [deep, ground]);
  expect([path.dirname(folder.path), socketProblem(folder.path)]).toEqual([ground, undefined]);
  await folder.close();
  const tooLong = await openTemporaryFolder(state, [deep]);
  expect(socketProblem(tooLong.path)).toMatch(/may hang: .* Set TMPDIR to a folder with a shorter path/);
  await tooLong.close();
});

test('unusable places are passed over', async () => {
  const { state, place } = await places();
  const missing = path.join(place, 'missing');
  const folder = await openTemporaryFolder(state, [missing, place]);
  expect(path.dirname(folder.path)).toBe(place);
  await folder.close();
  const beside = await openTemporaryFolder(state, [missing]);
  expect(path.dirname(beside.path)).toBe(state);
  await beside.close();
});
