/** The source of a run on the fake, and what only the fake can play: deletions, and a folder that changes while it is read. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { sourceFingerprint } from '@tidewheel/declaration/script.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import { expect, it } from 'vitest';
import { pinnedSourceOf } from '../../../functions/launch/source/pin-source.ts';
import { pinnedSourceContract } from '../../support/builders/pinned-source.ts';
import { declarationOf, runOf } from '../../support/builders/records.ts';
import { fakeClock } from '../../support/fakes/clock.ts';
import { memoryObjectStore } from '../../support/fakes/object-store.ts';

const clock = fakeClock();
pinnedSourceContract('the fake', () => Promise.resolve(memoryObjectStore(clock)));

const declaration = declarationOf('digits');
const RUN = runOf('digits', 1, { declaration });
const NEXT = runOf('digits', 2, { declaration });
const script = `${bucketKeys.source('digits')}train.py`;

function lay() {
  const store = memoryObjectStore(clock);
  store.put(script, 'print(1)');
  return store;
}

it('restores a deleted archive from the same files only', async () => {
  const store = lay();
  const pinned = await pinnedSourceOf(store, RUN);
  const [archive = ''] = store.keys('digits/sources/');
  store.remove(archive);
  expect(await pinnedSourceOf(store, RUN)).toEqual(pinned);
  expect(store.keys('digits/sources/')).toEqual([archive]);
  store.remove(archive);
  store.put(script, 'print(2)');
  await expect(pinnedSourceOf(store, RUN)).rejects.toThrow(/was deleted.*restore the earlier files/s);
});

it.each([
  ['changes', (store: ReturnType<typeof lay>) => store.put(script, 'print(2)')],
  ['grows', (store: ReturnType<typeof lay>) => store.put(`${bucketKeys.source('digits')}more.py`, '')],
  ['shrinks', (store: ReturnType<typeof lay>) => store.remove(script)],
])('is read again later where the folder %s meanwhile', async (_, change) => {
  const store = lay();
  store.put(`${bucketKeys.source('digits')}a.py`, '');
  const changing = {
    ...store,
    readBytes: async (key: string) => {
      const read = await store.readBytes(key);
      change(store);
      return read;
    },
  };
  await expect(pinnedSourceOf(changing, RUN)).rejects.toThrow(TransientError);
  expect(store.keys('digits/runs/')).toEqual([]);
});

it('uploads nothing for a run with the same code', async () => {
  const store = lay();
  const pinned = await pinnedSourceOf(store, RUN);
  const createBytes = () => Promise.reject(new Error('sent again'));
  expect(await pinnedSourceOf({ ...store, createBytes }, NEXT)).toEqual(pinned);
});

it('leaves out caches and folder markers', async () => {
  const store = lay();
  const pinned = await pinnedSourceOf(store, RUN);
  for (const name of ['', 'a/', '.git/config', '__pycache__/train.pyc', 'a/.mypy_cache/x'])
    store.put(bucketKeys.source('digits') + name, 'left behind');
  expect(await pinnedSourceOf(store, NEXT)).toEqual(pinned);
});

const REQUESTED = { at: '2026-11-29T00:00:00.000Z', requestedBy: 'a person', tokens: [], changed: [] };
const GIT = { commit: 'a'.repeat(40), branch: 'main', isDirty: true };

async function laid(note: (files: string) => unknown) {
  const store = lay();
  const objects: { name: string; etag: string }[] = [];
  for await (const { key, etag } of store.list(bucketKeys.source('digits')))
    objects.push({ name: key.slice(bucketKeys.source('digits').length), etag });
  store.put(bucketKeys.gitNote('digits', 'source/'), JSON.stringify(note(sourceFingerprint(objects))));
  return store;
}

it('knows the commit, also of a run done again', async () => {
  const store = await laid((files) => ({ ...GIT, files }));
  const pinned = await pinnedSourceOf(store, RUN);
  expect(pinned?.git).toEqual(GIT);
  expect(store.keys('digits/sources/')).toEqual([
    `${bucketKeys.packedSource('digits', pinned?.digest ?? '')}source.zip`,
  ]);
  const other = { ...NEXT, source: pinned?.digest, request: { ...REQUESTED, again: RUN.runId } };
  store.put(script, 'print(2)');
  expect(await pinnedSourceOf(store, other)).toEqual(pinned);
});

it.each([
  ['other files', () => ({ ...GIT, files: 'f'.repeat(64) })],
  ['no commit', (files: string) => ({ ...GIT, commit: '--upload-pack=x', files })],
  ['a branch that steers a terminal', (files: string) => ({ ...GIT, branch: '\u001b[2J', files })],
  ['nothing', () => null],
])('knows no commit by a note of %s', async (_, note) => {
  const store = await laid(note);
  expect((await pinnedSourceOf(store, RUN))?.git).toBeUndefined();
});
