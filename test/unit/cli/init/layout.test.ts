/** What a folder is taken for, where a guess could go wrong, and what `check` says of it. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { dataIn, withLayout } from '../../../../cli/init/data.ts';
import { besideData, findLayout } from '../../../../cli/init/layout.ts';
import { layoutLines, localTables, notesOf } from '../../../../cli/init/layout-notes.ts';
import { MemoryBlobStore } from '../../../support/fakes/memory-blob-store.ts';

const NOTHING = new MemoryBlobStore();
const three = (folder: string): string[] => [1, 2, 3].map((number) => `${folder}/${number}.jpg`);

describe('a guess', () => {
  it.each([
    ['class folders of the same numbers', [...three('cat'), ...three('dog')], { label: 'parentFolder' }],
    ['one folder of training', [...three('train')], { label: 'none' }],
    ['folders of a test alone', [...three('test/a'), ...three('test/b')], { label: 'parentFolder' }],
    [
      'few files in a split',
      [...three('a'), ...three('b'), 'train/1.jpg', 'val/1.jpg'],
      { label: 'parentFolder' },
    ],
    ['masks of other names', [...three('images'), 'masks/x.png', 'masks/y.png'], { label: 'none' }],
    ['one class', [...three('cat')], { label: 'none' }],
    ['a file beside folders', ['x.jpg', ...three('cat'), ...three('dog')], { label: 'none' }],
    ['a table that names no file', [...three('a'), ...three('b'), 'notes.csv'], { label: 'parentFolder' }],
  ])('of %s takes no more than there is', async (_, paths, fields) => {
    expect((await findLayout(paths, NOTHING)).fields).toEqual(fields);
  });

  it.each([
    [
      ['train/cat/1.jpg', 'val/cat/1.jpg', 'src/a.py'],
      'train',
      [expect.stringContaining('val/ beside train/')],
    ],
    [
      ['train.csv', 'pictures/1.jpg', 'train.py'],
      'pictures',
      [expect.stringContaining('train.csv beside pictures/')],
    ],
    [['images/1.jpg', 'masks/1.png'], 'images', [expect.stringContaining('masks/ beside images/')]],
    [['data/1.jpg', 'docs/1.png', 'README.md'], 'data', []],
  ])('of %j names what is not sent', (names, chosen, remedies) => {
    expect(besideData(names, chosen)).toEqual(remedies);
  });

  it('is fast for many classes', async () => {
    const paths = Array.from({ length: 20_000 }, (_, at) => `class-${at % 1_000}/${at}.jpg`);
    const before = process.cpuUsage();
    expect((await findLayout(paths, NOTHING)).fields).toEqual({ label: 'parentFolder' });
    expect(process.cpuUsage(before).user).toBeLessThan(4e6);
  });

  it('accepts all where most suffixes are unknown', () => {
    const most = ['a.qqq', 'b.qqq', 'c.qqq', 'd.json'];
    expect(dataIn('data', most)).toMatchObject({ isUnknown: true, files: 1 });
    expect(dataIn('data', ['a.qqq', 'b.npy', 'c.npy'])?.isUnknown).toBeUndefined();
  });
});

describe('a folder of data', () => {
  let folder = '';
  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function filesOf(files: Readonly<Record<string, string>>) {
    folder = await mkdtemp(path.join(tmpdir(), 'zoo-'));
    for (const [name, text] of Object.entries(files)) {
      await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
      await writeFile(path.join(folder, name), text);
    }
    return Object.entries(files).map(([key, { length: size }]) => ({ key, size }));
  }

  it('is compared with its declaration', async () => {
    const files = await filesOf({
      'labels.csv': 'file,label\n1.jpg,cat\n7.jpg,dog\n',
      'train.txt': '1\n2\n',
      'val.txt': '3\n',
      'images/1.jpg': 'x',
      'images/2.jpg': 'x',
      'images/4.jpg': 'x',
    });
    const packing = packingSchema.parse({
      split: { by: 'list', train: ['train.txt'], validation: ['val.txt'] },
      label: 'annotations',
      annotations: { file: 'labels.csv', key: 'file', folder: 'images/' },
    });
    expect((await notesOf(folder, packing, files)).notes).toEqual([
      { field: 'label', text: '2 of 3 files are left out (labelMissing), such as "images/2.jpg"' },
      { field: 'split', text: '1 samples: 1 for train ("images/1.jpg")' },
      {
        field: 'label',
        text: '2 rows in labels.csv; 1 classes (cat), such as "cat" of "images/1.jpg"; 1 rows name no file, such as "images/7.jpg", while "images/2.jpg" has no row: declare packing.annotations.folder, prefix or key',
      },
    ]);
  });

  it('says what it was taken for in comments', async () => {
    const files = await filesOf({ "train/o'b/1.jpg": 'x', 'train/#c/1.jpg': 'x', 'val/1/1.jpg': 'x' });
    const keys = files.map(({ key }) => key);
    const facts = dataIn('data', keys);
    const data = facts && (await withLayout(localTables(folder), facts, { files, beside: [] }));
    expect(data?.layout && layoutLines(data.layout)).toEqual([
      '  # found: 3 samples: 2 for train ("train/#c/1.jpg"), 1 for validation ("val/1/1.jpg")',
      '  split: { by: folder, train: [train], validation: [val] }',
      '  # found: 3 classes (#c, o\'b, 1), such as "#c" of "train/#c/1.jpg"',
      '  label: parentFolder',
    ]);
  });
});
