/** A drop in bundles that is killed at any write goes on where it was. */

import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import { keysApart, splitKey } from '@tidewheel/packing/bundles.ts';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { openJournal } from '../../../../cli/serve/taken-files.ts';
import { groupFiles, suggestion } from '../../../../cli/upload/bundling.ts';
import { dropBundles } from '../../../../cli/upload/drop-bundles.ts';
import { dataFilesBelow, type LocalFile } from '../../../../cli/upload/local-files.ts';
import { openBundles } from '../../../../packages/packing/arrivals/open-bundles.ts';
import { now } from '../../../support/builders/packing.ts';
import { faultyStore, Killed } from '../../../support/fakes/faulty-blob-store.ts';
import { MemoryBlobStore } from '../../../support/fakes/memory-blob-store.ts';
import { folderOfSuite } from '../../../support/folders.ts';

const FILES = 24;
const PREFIX = 'pets/incoming/';
const grouping = { prefix: PREFIX, apart: ['_SUCCESS', 'labels.csv'], shuffle: true, bundleBytes: 40 };
const folder = folderOfSuite('bundles');
let files: readonly LocalFile[];

beforeAll(async () => {
  await mkdir(path.join(folder, 'data/cat'), { recursive: true });
  for (let index = 0; index < FILES; index += 1)
    await writeFile(
      path.join(folder, `data/cat/ü ${index >> 1}.${index % 2 === 0 ? 'jpg' : 'json'}`),
      `image ${index}`,
    );
  ({ files } = await dataFilesBelow(path.join(folder, 'data')));
});

const file = (name: string, size = 10): LocalFile => ({ path: `/${name}`, name, size, mtimeMs: 0 });
const { signal } = new AbortController();
const fixed = { pipeline: 'pets', lanes: 3, signal, onProgress: () => undefined };

async function keysIn(store: MemoryBlobStore): Promise<string[]> {
  const bundles = await openBundles({ store, now }, 'pets');
  return [...bundles.members()].map(({ member }) => member.key.slice(PREFIX.length));
}

describe('a drop in bundles', () => {
  it('has each file there once after any kills', async () => {
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        round += 1;
        const store = new MemoryBlobStore();
        let isDone = false;
        for (let start = 0; !isDone; start += 1) {
          const journal = await openJournal({ environment: { XDG_STATE_HOME: folder }, of: [`${round}`] });
          const { bundles } = groupFiles(files, grouping);
          const waiting = bundles.map((bundle) => bundle.filter((one) => !journal.has(one)));
          const dying = faultyStore(store, `${seed} ${start}`, start < 6 ? 0.2 : 0);
          const dropped = await dropBundles({ ...fixed, store: dying, journal, bundles: waiting }).catch(
            (error: unknown) => {
              if (!(error instanceof Killed)) throw error;
            },
          );
          isDone = dropped !== undefined && dropped.failed.length === 0;
        }
        expect((await keysIn(store)).toSorted()).toEqual(files.map(({ name }) => name).toSorted());
        // What a kill left half done was made again under the same name.
        const { bundles } = groupFiles(files, grouping);
        expect(store.objects.size).toBe(2 * bundles.length);
      }),
      { numRuns: 20 },
    );
  });

  it('says which files it could not read', async () => {
    const journal = await openJournal({ environment: { XDG_STATE_HOME: folder }, of: ['unread'] });
    const gone = file('gone.jpg');
    const [first] = files;
    const store = new MemoryBlobStore();
    const bundles = [[...(first ? [first, { ...first, name: 'grown.jpg', size: 3 }] : []), gone]];
    const { failed } = await dropBundles({ ...fixed, store, journal, bundles });
    expect(failed.map(({ name }) => name).toSorted()).toEqual(['gone.jpg', 'grown.jpg']);
    expect(await keysIn(store)).toEqual([first?.name]);
    expect(journal.has(gone)).toBe(false);
  });
});

describe('the bundles of a folder', () => {
  it('hold each small file, and samples whole', () => {
    const { bundles, plain } = groupFiles(files, grouping);
    expect(plain).toEqual([]);
    expect(
      bundles
        .flat()
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(files.map(({ name }) => name).toSorted());
    const stems = bundles.flat().map(({ name }) => splitKey(name).stem);
    const changes = stems.filter((stem, index) => stem !== stems[index - 1]);
    expect(changes).toHaveLength(new Set(stems).size);
  });

  it('leave out what must lie by itself', () => {
    const apart = [file('_SUCCESS'), file('labels.csv'), file('large.jpg', 2 ** 21), file('a//b.jpg')];
    const { bundles, plain } = groupFiles([...apart, file('small.jpg')], grouping);
    expect(plain).toEqual(apart);
    expect(bundles.flat().map(({ name }) => name)).toEqual(['small.jpg']);
  });

  it('follow the keys where shards do', () => {
    const { bundles } = groupFiles(files, { ...grouping, shuffle: false });
    const names = bundles.flat().map(({ name }) => name);
    expect(names).toEqual(names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
  });

  it('are suggested for many files only', () => {
    const some = Array.from({ length: 10_000 }, (_, index) => file(`${index}.jpg`, 10_000));
    expect(suggestion(some.slice(1))).toEqual([]);
    expect(suggestion(some)).toEqual([
      '10,000 of the files are small. With --bundle, some 4 requests send them instead of one each.',
    ]);
  });
});

it('annotations and the lists of a split stay apart', () => {
  const annotations = { file: 'labels.csv', key: 'key', label: 'label' };
  const split = { by: 'list', train: ['train.txt'], test: ['a.txt', 'b.txt'] } as const;
  expect(keysApart({ annotations })).toEqual(['labels.csv']);
  expect(keysApart(packingSchema.parse({ split }))).toEqual(['train.txt', 'a.txt', 'b.txt']);
  expect(keysApart(packingSchema.parse({ split: { train: 0.9, test: 0.1 } }))).toEqual([]);
});
