/** A drop that is killed at any file goes on where it was. */
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { openJournal } from '../../../../cli/serve/taken-files.ts';
import { dropFiles } from '../../../../cli/upload/drop-folder.ts';
import { dataFilesBelow } from '../../../../cli/upload/local-files.ts';
import { MemoryBlobStore } from '../../../support/fakes/memory-blob-store.ts';
import { folderOfSuite } from '../../../support/folders.ts';

const FILES = 12;
const LANES = 3;
const folder = folderOfSuite('drop');

beforeAll(async () => {
  await mkdir(path.join(folder, 'data/cat'), { recursive: true });
  for (let index = 0; index < FILES; index += 1)
    await writeFile(path.join(folder, `data/cat/ü ${index}.jpg`), `image ${index}`);
});

/** The process is killed after some of its uploads: with the object there, and nothing noted. */
class Killed extends Error {}

async function untilKilled<T>(store: MemoryBlobStore, uploads: number, act: () => Promise<T>): Promise<T> {
  let left = uploads;
  const put = store.put.bind(store);
  store.put = async (...words) => {
    if (left <= 0) throw new Killed();
    left -= 1;
    const result = await put(...words);
    if (left === 0) throw new Killed();
    return result;
  };
  try {
    return await act();
  } finally {
    store.put = put;
  }
}

describe('a drop', () => {
  it('has each file there after any kills', async () => {
    const { files } = await dataFilesBelow(path.join(folder, 'data'));
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: FILES }), { maxLength: 4 }), async (kills) => {
        round += 1;
        const objects = new MemoryBlobStore();
        let sent = 0;
        const start = async (uploads: number) => {
          const journal = await openJournal({
            environment: { XDG_STATE_HOME: folder },
            of: [String(round)],
          });
          const waiting = files.filter((file) => !journal.has(file));
          const options = {
            prefix: 'pets/incoming/',
            files: waiting,
            journal,
            lanes: LANES,
            onProgress: () => undefined,
          };
          const { signal } = new AbortController();
          const dropped = await untilKilled(objects, uploads, () =>
            dropFiles({ ...options, store: objects, signal }),
          );
          sent += waiting.length === 0 ? 0 : dropped.files;
        };
        for (const uploads of kills) await start(uploads);
        await start(Number.POSITIVE_INFINITY);
        const keys = (await objects.listPage('pets/incoming/')).objects.map(({ key }) => key);
        expect(keys).toHaveLength(FILES);
        expect(sent).toBe(FILES);
      }),
      { numRuns: 25 },
    );
  });

  it('leaves out hidden files, links outwards, and says so', async () => {
    await writeFile(path.join(folder, 'data/.DS_Store'), '');
    await symlink('/nowhere', path.join(folder, 'data/lost'));
    await symlink(folder, path.join(folder, 'data/round'));
    await symlink('cat/ü 0.jpg', path.join(folder, 'data/same'));
    await symlink('/etc/passwd', path.join(folder, 'data/users'));
    const { files, skipped } = await dataFilesBelow(path.join(folder, 'data'));
    expect(files.map(({ name }) => name).filter((name) => !name.startsWith('cat/'))).toEqual(['same']);
    expect(files).toHaveLength(FILES + 1);
    expect(skipped.map(({ name, why }) => `${name}: ${why}`)).toEqual([
      'lost: it is a link to nothing, or may not be read',
      'round: it is a link to a folder',
      'users: it is a link that leads out of the folder: put a copy in its place',
    ]);
  });
});
