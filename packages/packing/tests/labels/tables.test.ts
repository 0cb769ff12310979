/** Rows of tables as people have them: other separators, folders that rows leave out, names of another place. */
import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import { describe, expect, it } from 'vitest';
import { dropped, memberLines, packAll, settings } from '../../../../test/support/builders/packing.ts';
import { decompress, linesOf } from '../../documents/compressed-lines.ts';
import { rowReader } from '../../labels/annotation-rows.ts';

type Declared = Partial<NonNullable<ReturnType<typeof settings>['annotations']>>;

/** The labels of the sealed samples, by their keys. */
async function labelsOf(files: Readonly<Record<string, string>>, declared: Declared) {
  const annotations = { file: 'table.csv', key: 'key', label: 'label', ...declared };
  const store = dropped(files);
  const { rejected } = await packAll(store, settings({ label: 'annotations', annotations }));
  const lines = memberLines(store);
  const labels = lines.flatMap(({ label, made }) => (made === 'label' ? [label ?? ''] : []));
  const problems = store.keys().find((key) => key.endsWith('annotation-problems.jsonl.gz'));
  const rows = problems === undefined ? [] : [...linesOf(decompress(store.body(problems)))];
  return { rejected, labels: labels.sort(), rows: rows.map((line): unknown => JSON.parse(line)) };
}

const IMAGES = { 'train_images/1.jpg': 'one', 'train_images/2.jpg': 'two' };

describe('a row', () => {
  it.each([
    ['without its folder and suffix', { folder: 'train_images/' }, ['1', '2']],
    ['without its folder', { folder: 'train_images/' }, ['1.jpg', '2.jpg']],
    ['with a dot before it', {}, ['./train_images/1.jpg', './train_images/2.jpg']],
    [
      'as a URI',
      { prefix: 's3://other/raw/' },
      ['s3://other/raw/train_images/1.jpg', 's3://other/raw/train_images/2'],
    ],
    [
      'as a URI of another folder',
      { prefix: 'gs://b/', folder: 'train_images/' },
      ['gs://b/1.jpg', 'gs://b/2.jpg'],
    ],
  ])('names a file %s', async (_, declared, [one, two]) => {
    const table = `key,label\n${one},cat\n${two},dog\n`;
    const found = await labelsOf({ ...IMAGES, 'table.csv': table }, declared);
    expect(found).toEqual({ rejected: 0, labels: ['cat', 'dog'], rows: [] });
  });

  it('that names nothing is listed as the key that it means', async () => {
    const table = 'key,label\n1,cat\n9,dog\n';
    const found = await labelsOf({ ...IMAGES, 'table.csv': table }, { folder: 'train_images/' });
    expect(found).toEqual({
      rejected: 1,
      labels: ['cat'],
      rows: [[2, 'train_images/9', 'unknownKey']],
    });
  });
});

describe('a header', () => {
  it.each([
    [';', 'table.csv'],
    ['\t', 'table.tsv'],
    ['|', 'table.csv'],
    [',', 'table.csv'],
  ])('tells that %j stands between fields', (separator, file) => {
    const rows = [
      ['id', 'key', 'label'],
      ['1', 'a,b;c.jpg', 'cat'],
      ['2', `"x${separator}y ""z"".jpg"`, '"two\nlines"'],
    ].map((row) =>
      row.join(separator).replace('a,b;c', separator === ',' || separator === ';' ? 'abc' : 'a,b;c'),
    );
    const reader = rowReader(file, { key: 'key', label: 'label' });
    const found = [...reader.push(`${rows.join('\n')}\n`), ...reader.end()];
    expect(found).toMatchObject([
      { kind: 'row', label: 'cat' },
      { kind: 'row', key: `x${separator}y "z".jpg`, label: 'two\nlines' },
    ]);
  });

  it('without the declared columns is refused with those that it has', () => {
    const reader = rowReader('table.tsv', { key: 'key', label: 'label' });
    expect(() => [...reader.push('file\tclass\n')]).toThrow('the annotations have no column "key"');
  });
});

it.each([
  [{ file: 'a.xlsx' }, /name a \.csv, \.tsv/],
  [{ file: 'a.csv', folder: 'images' }, /write a folder under incoming/],
  [{ file: 'a.csv', folder: '/images/' }, /write a folder under incoming/],
])('annotations of %j are refused', (annotations, message) => {
  const read = packingSchema.safeParse({ label: 'annotations', annotations });
  expect(JSON.stringify(read.error?.issues)).toMatch(message);
});
