import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  incoming,
  manifestOf,
  memberLines,
  PIPELINE,
  packAll,
  RUN,
  readTar,
  settings,
  unpack,
} from '../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../test/support/fakes/memory-blob-store.ts';
import { decompress, linesOf } from '../documents/compressed-lines.ts';
import { type AnnotationRow, rowReader } from '../labels/annotation-rows.ts';
import { LabelTable } from '../labels/label-table.ts';
import { verifyGeneration } from '../verify/verify.ts';

const annotations = { file: 'labels.csv', key: 'key', label: 'label' };
const packing = settings({ label: 'annotations', annotations });

function rowsOf(file: string, pieces: readonly string[]): AnnotationRow[] {
  const reader = rowReader(file, { key: 'key', label: 'label' });
  return [...pieces.flatMap((piece) => [...reader.push(piece)]), ...reader.end()];
}

/** The text in chunks of random sizes, as a network delivers it. */
function cut(text: string, at: readonly number[]): string[] {
  const points = [0, ...at.map((one) => one % (text.length + 1)).sort((a, b) => a - b), text.length];
  return points.slice(1).map((end, index) => text.slice(points[index], end));
}

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
const word = fc.string({
  unit: fc.constantFrom('a', 'b', ',', '"', '\n', '\r', ' ', 'é', '😀'),
  minLength: 1,
});

describe('rows of annotations', () => {
  it('reads any CSV back, however it is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(word, word)), fc.array(fc.nat()), (pairs, cuts) => {
        const text = `\uFEFFother,"key",label\r\n${pairs.map(([key, label]) => `x,${quoted(key)},${quoted(label)}\r\n`).join('')}`;
        const expected = pairs.map(([key, label], index) => ({ kind: 'row', row: index + 1, key, label }));
        expect(rowsOf('a.csv', cut(text, cuts))).toEqual(expected);
      }),
    );
  });

  it('keeps a quote inside an unquoted field', () => {
    // A quote there begins no quoted field, so the rows after it are read.
    const bare = fc.string({ unit: fc.constantFrom('a', '"', ' ', 'é'), minLength: 1 });
    const field = fc.oneof(
      bare.filter((text) => !text.startsWith('"')).map((text) => [text, text]),
      word.map((text) => [text, quoted(text)]),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(field, field)), fc.array(fc.nat()), (pairs, cuts) => {
        const text = `key,label\n${pairs.map(([[, key], [, label]]) => `${key},${label}\n`).join('')}`;
        const expected = pairs.map(([[key], [label]], index) => ({
          kind: 'row',
          row: index + 1,
          key,
          label,
        }));
        expect(rowsOf('a.csv', cut(text, cuts))).toEqual(expected);
      }),
    );
  });

  it('reads any JSON Lines back, however they are cut', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(word, word)), fc.array(fc.nat()), (pairs, cuts) => {
        const text = pairs.map(([key, label]) => JSON.stringify({ label, key })).join('\n');
        const expected = pairs.map(([key, label], index) => ({ kind: 'row', row: index + 1, key, label }));
        expect(rowsOf('a.jsonl', cut(text, cuts))).toEqual(expected);
      }),
    );
  });

  it('reports broken rows and reads on', () => {
    const rows = rowsOf('a.jsonl', [
      '{"key":"a","label":3}\nnonsense\n{"key":"b"}\n\n{"key":"c","label":true}\n',
    ]);
    expect(rows.map(({ kind, row, key }) => [kind, row, key])).toEqual([
      ['row', 1, 'a'],
      ['broken', 2, ''],
      ['broken', 3, 'b'],
      ['row', 4, 'c'],
    ]);
  });

  it('lists the existing columns if one is missing', () => {
    expect(() => rowsOf('a.csv', ['file,class\na,1\n'])).toThrow(/no column "key", only \["file","class"\]/);
  });

  it('refuses a file with an unclosed quote', () => {
    expect(() => rowsOf('a.csv', ['key,label\n', `"a,${'1\n'.repeat(600_000)}`])).toThrow(/close its quotes/);
  });

  it('holds labels as a Map would', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string({ maxLength: 2 }), fc.constantFrom('x', 'y'))), (pairs) => {
        const table = new LabelTable();
        const model = new Map<string, Set<string>>();
        for (const [key, label] of pairs) {
          table.add(key, label);
          model.set(key, (model.get(key) ?? new Set()).add(label));
        }
        for (let filler = 0; filler < 2_000; filler += 1) table.add(`filler ${filler}`, 'z');
        for (const [key, labels] of model)
          expect(table.find(key)).toEqual(
            labels.size > 1 ? { kind: 'doubled' } : { kind: 'label', label: [...labels][0] },
          );
        expect(table.find('not there')).toBeUndefined();
      }),
    );
  });
});

async function labelsIn(store: MemoryBlobStore, runId = RUN): Promise<Map<string, string>> {
  const labels = new Map<string, string>();
  for (const shard of store.keys(bucketKeys.shards(PIPELINE, runId)))
    for (const { name, body } of await readTar(store.body(shard)))
      if (name.endsWith('.cls')) labels.set(name.slice(0, -4), body.toString());
  return labels;
}

describe('labels from annotations', () => {
  it('match by member key or by sample name', async () => {
    const store = new MemoryBlobStore();
    for (const key of ['a/1.jpg', 'a/1.json', 'a/2.jpg', 'a/3.jpg', 'a/3.cls'])
      store.seed(incoming + key, key);
    store.seed(`${incoming}labels.csv`, 'key,label\na/1.jpg,"cat, grey"\na/2,dog\n');
    await packAll(store, packing);
    expect(await labelsIn(store)).toEqual(
      new Map([
        ['a/1', 'cat, grey'],
        ['a/2', 'dog'],
        ['a/3', 'a/3.cls'],
      ]),
    );
    expect((await unpack(store)).has(`${incoming}labels.csv`)).toBe(false);
  });

  it('reports unmatched rows and arrivals', async () => {
    const store = new MemoryBlobStore();
    for (const key of ['1.jpg', '2.jpg', '3.jpg', '4.jpg']) store.seed(incoming + key, key);
    store.seed(
      `${incoming}labels.csv`,
      'key,label\n1.jpg,cat\n2.jpg,cat\n2.jpg,dog\n4.jpg,cat\n4.jpg,cat\n5.jpg,cat\n6.jpg\n',
    );
    await packAll(store, packing);
    const manifest = manifestOf(store);
    expect(manifest.rejections.byReason).toEqual({ labelDoubled: 1, labelMissing: 1 });
    expect(manifest.annotations).toMatchObject({
      rows: 7,
      byProblem: { doubledOtherLabel: 1, doubledSameLabel: 1, unknownKey: 1, brokenRow: 1 },
    });
    const list = manifest.annotations?.problems?.list ?? '';
    const text = decompress(store.body(`${bucketKeys.generation(PIPELINE, RUN)}${list}`));
    expect([...linesOf(text)].map((line): unknown => JSON.parse(line))).toEqual([
      [3, '2.jpg', 'doubledOtherLabel'],
      [5, '4.jpg', 'doubledSameLabel'],
      [6, '5.jpg', 'unknownKey'],
      [7, '6.jpg', 'brokenRow'],
    ]);
    expect((await verifyGeneration(store, manifest)).problems).toEqual([]);
    store.objects.delete(`${bucketKeys.generation(PIPELINE, RUN)}${list}`);
    expect((await verifyGeneration(store, manifest)).problems).not.toEqual([]);
  });

  it.each(['mds', 'parquet'] as const)('are a column of %s where they are few', async (format) => {
    const store = new MemoryBlobStore();
    for (const key of ['1.jpg', '2.jpg', '3.jpg', '3.json', '4.json']) store.seed(incoming + key, '1');
    store.seed(`${incoming}labels.csv`, 'key,label\n1,cat\n');
    await packAll(store, { ...packing, format });
    const manifest = manifestOf(store);
    expect(manifest.rejections.byReason).toEqual({ labelMissing: 4 });
    expect(manifest.schema.columns).toEqual(['image', 'label']);
  });

  it('are packed later if the file changes or arrives', async () => {
    // Samples that were rejected for their label go into the next generation.
    const store = new MemoryBlobStore();
    for (const key of ['1.jpg', '2.jpg']) store.seed(incoming + key, key);
    expect(await packAll(store, packing)).toMatchObject({ status: 'nothingToTrain', rejected: 2 });
    store.seed(`${incoming}labels.csv`, 'key,label\n1.jpg,cat\n');
    expect(await packAll(store, packing, 'digits-000002')).toMatchObject({ samples: 1, rejected: 1 });
    expect(await packAll(store, packing, 'digits-000003')).toMatchObject({ samples: 0, rejected: 0 });
    store.seed(`${incoming}labels.csv`, 'key,label\n1.jpg,cat\n2.jpg,dog\n');
    expect(await packAll(store, packing, 'digits-000004')).toMatchObject({ samples: 1, rejected: 0 });
    expect(await labelsIn(store, 'digits-000004')).toEqual(new Map([['2', 'dog']]));
    expect(manifestOf(store, 'digits-000004').annotations?.byProblem).toEqual({});
  });

  it('reject and label a sample as a whole', async () => {
    const store = new MemoryBlobStore();
    for (const key of ['1.jpg', '1.json', '2.jpg', '2.json']) store.seed(incoming + key, key);
    store.seed(`${incoming}labels.csv`, 'key,label\n2.json,cat\n');
    expect(await packAll(store, packing)).toMatchObject({ samples: 1, rejected: 2 });
    expect(memberLines(store).flatMap(({ key }) => key ?? [])).toEqual([
      `${incoming}2.jpg`,
      `${incoming}2.json`,
    ]);
  });

  it.each([
    ['latin1', 'key,label\na,B\u00e4r\nb,B\u00f6r\n'],
    ['utf16le', '\ufeffkey,label\na,cat\n'],
  ] as const)('are not guessed from a file in %s', async (encoding, text) => {
    const store = new MemoryBlobStore();
    for (const key of ['a.jpg', 'b.jpg']) store.seed(incoming + key, key);
    store.seed(`${incoming}labels.csv`, Buffer.from(text, encoding));
    await expect(packAll(store, packing)).rejects.toThrow(
      'packing.annotations.file "labels.csv" is no UTF-8: save it again in that encoding',
    );
  });

  it('refuse a declaration with a missing or unused file', () => {
    expect(packingSchema.safeParse({ label: 'annotations' }).success).toBe(false);
    expect(packingSchema.safeParse({ annotations }).success).toBe(false);
    expect(packingSchema.safeParse({ label: 'annotations', annotations, format: 'lines' }).success).toBe(
      false,
    );
    expect(packingSchema.safeParse({ label: 'annotations', annotations }).success).toBe(true);
  });
});
