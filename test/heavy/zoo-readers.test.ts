/**
 * Layouts of the zoo, packed for readers that are not our own: each sees the samples, columns, labels and splits that the
 * zoo names, and the bytes that were dropped. `npm run test:clients -- readers` reads one tree in every other way.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import type { MemberLine } from '@tidewheel/packing/dataset.ts';
import { imageSize } from 'image-size';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { runProgram } from '../../cli/recipes/program.ts';
import { type EnvironmentName, environmentOf } from '../clients/environments/environments.ts';
import { sha256 } from '../clients/readers/sealed-tree.ts';
import {
  dropped,
  manifestOf,
  memberLines,
  PIPELINE,
  packAll,
  RUN,
  settings,
} from '../support/builders/packing.ts';
import type { MemoryBlobStore } from '../support/fakes/memory-blob-store.ts';
import { bodyOf } from '../zoo/bodies.ts';
import { LAYOUTS, type Layout } from '../zoo/layouts.ts';

/** Samples of the same columns, which every format takes. */
const EVEN = [
  'class folders',
  'class folders of recordings',
  'train, val and test folders of classes',
  'images and masks',
  'images and labels below each split',
  'frames and ground truth of Cityscapes',
  'volumes of nnU-Net',
  'captions beside their images',
  'a CSV beside a folder, as on Kaggle',
  'metadata.jsonl of Hugging Face, with a split',
  'names with dots',
  'one name in two Unicode forms',
  'masks by a word between dots',
];
/** mosaicml-streaming takes seconds for each split. */
const FEW = [
  'class folders of recordings',
  'images and masks',
  'volumes of nnU-Net',
  'a CSV beside a folder, as on Kaggle',
  'metadata.jsonl of Hugging Face, with a split',
  'names with dots',
];
/** Samples of which some lack a column, and files of several kinds. */
const UNEVEN = ['images and labels of YOLO, with a split', 'VOC, with lists', 'point clouds', 'no suffix'];

/** Without labels, or with numbers: `datasets` takes `.cls` for a number, as webdataset's own decoder does. */
const NUMBERED = [
  'one flat folder',
  'images and masks',
  'images and labels below each split',
  'frames and ground truth of Cityscapes',
  'captions beside their images',
  'masks by a word between dots',
  'a manifest whose keys are URIs',
];

interface Tried {
  readonly reader: string;
  readonly environment: EnvironmentName;
  readonly format: PackingSettings['format'];
  readonly layouts: readonly string[];
}

const READERS: readonly Tried[] = [
  { reader: 'webdataset', environment: 'readers', format: 'webdataset', layouts: [...EVEN, ...UNEVEN] },
  { reader: 'streaming', environment: 'readers', format: 'mds', layouts: FEW },
  { reader: 'tf.data', environment: 'readers-tensorflow', format: 'tfrecord', layouts: [...EVEN, ...UNEVEN] },
  { reader: 'pyarrow', environment: 'readers-tensorflow', format: 'parquet', layouts: EVEN },
  { reader: 'datasets, parquet', environment: 'readers-tensorflow', format: 'parquet', layouts: EVEN },
  {
    reader: 'datasets, webdataset',
    environment: 'readers-tensorflow',
    format: 'webdataset',
    layouts: NUMBERED,
  },
];

type Sample = Readonly<Record<string, string>>;
type Seen = Readonly<Record<string, readonly Sample[]>>;

let side = 8;
/** An image that decodes, of a size that no other has; all else as the zoo has it. */
async function bodyFor(entry: readonly [string, string]): Promise<readonly [string, Uint8Array]> {
  const kind = /\.(png|jpe?g|gif|tif)$/i.exec(entry[0])?.[1]?.toLowerCase();
  if (kind === undefined) return bodyOf(entry);
  side += 1;
  const image = sharp({ create: { width: side, height: 8, channels: 3, background: '#804020' } });
  const format = kind === 'tif' ? 'tiff' : kind === 'jpg' ? 'jpeg' : kind;
  return [entry[0], await image.toFormat(format as 'png').toBuffer()];
}

function sizeOf(body: Uint8Array | undefined): string | undefined {
  if (body === undefined || !/^(89504e47|ffd8ff)/.test(Buffer.from(body).toString('hex', 0, 4)))
    return undefined;
  const { width, height } = imageSize(body);
  return `${width}x${height}`;
}

/** Writes the shards of each split into the folder. @returns the samples that readers have to see, by split */
async function sealed(layout: Layout, format: Tried['format'], folder: string): Promise<Seen> {
  const files = await Promise.all(Object.entries(layout.files).map(bodyFor));
  const store = dropped(Object.fromEntries(files));
  const { require = [], ...fields } = layout.init;
  const packing = settings({ ...fields, ...(require.length > 0 && { require: [...require] }), format });
  await packAll(store, packing);
  const prefix = bucketKeys.shards(PIPELINE, RUN);
  for (const key of store.keys(prefix)) {
    const file = path.join(folder, 'shards', key.slice(prefix.length));
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, store.body(key));
  }
  return expectedOf(store, format, new Map(files));
}

function expectedOf(
  store: MemoryBlobStore,
  format: Tried['format'],
  bodies: ReadonlyMap<string, Uint8Array>,
): Seen {
  const seen: Record<string, Sample[]> = {};
  const splits = (manifestOf(store).splits ?? []).map(({ name }) => name);
  let before = '';
  let found: Record<string, string> = {};
  for (const { split, line } of linesBySplit(store, splits)) {
    const id = `${split}#${line.sample}`;
    if (id !== before) seen[split] = [...(seen[split] ?? []), (found = {})];
    before = id;
    const [field, value] = fieldOf(line, format, bodies);
    found[field] = value;
  }
  return seen;
}

function fieldOf(
  { key = '', column = '', name, made, label = '' }: MemberLine,
  format: Tried['format'],
  bodies: ReadonlyMap<string, Uint8Array>,
): readonly [field: string, value: string] {
  const isTar = format === 'webdataset';
  if (made === 'label') return [isTar ? 'cls' : 'label', label];
  const body = bodies.get(key.slice(bucketKeys.incoming(PIPELINE).length));
  // mosaicml-streaming decodes the column of images.
  const pixels = format === 'mds' && column === 'image' ? sizeOf(body) : undefined;
  const suffix = name.slice(name.indexOf('.', name.lastIndexOf('/') + 1) + 1);
  return [isTar ? suffix : column, pixels ?? sha256(body ?? 'no such file')];
}

/** Shards of one split follow each other. */
function linesBySplit(store: MemoryBlobStore, splits: readonly string[]) {
  const lines = memberLines(store);
  const { shards } = manifestOf(store);
  let at = 0;
  return shards.flatMap(({ name, members }) => {
    const split = splits.find((one) => name.startsWith(`${one}/`)) ?? '';
    const own = lines.slice(at, at + members);
    at += members;
    return own.map((line) => ({ split, line }));
  });
}

const answer = z.record(z.string(), z.record(z.string(), z.array(z.record(z.string(), z.string()))));
const READER_SECONDS = 500;

async function read({ reader, environment, format, layouts }: Tried, root: string) {
  const chosen = LAYOUTS.filter(({ name }) => layouts.includes(name));
  expect(chosen.map(({ name }) => name).toSorted()).toEqual([...layouts].toSorted());
  const expected = new Map<Layout, Seen>();
  for (const layout of chosen)
    expected.set(layout, await sealed(layout, format, path.join(root, layout.name)));
  const python = await environmentOf(environment, () => undefined);
  const script = path.join(import.meta.dirname, '../clients/readers/read_layouts.py');
  const ended = await runProgram(python, [script, reader, root], {
    seconds: READER_SECONDS,
    environment: {
      PATH: process.env['PATH'] ?? '',
      HOME: process.env['HOME'] ?? '',
      TF_CPP_MIN_LOG_LEVEL: '3',
      HF_HUB_OFFLINE: '1',
    },
  });
  const said = ended.output.split('\n').findLast((line) => line.startsWith('saw '));
  if (said === undefined) throw new Error(ended.output.slice(-3_000));
  return { expected, seen: answer.parse(JSON.parse(said.slice('saw '.length))) };
}

const sorted = (samples: readonly Sample[] = []): readonly string[] =>
  samples
    .map((one) => JSON.stringify(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1))))
    .toSorted();

/** Such as { cat: 2 }, of the values of a field in all samples. */
const tally = (values: readonly (string | undefined)[]): Record<string, number> =>
  Object.fromEntries(
    [
      ...Map.groupBy(
        values.filter((value) => value !== undefined),
        (value) => value,
      ),
    ].map(([value, all]) => [value, all.length]),
  );

let root = '';
afterAll(() => rm(root, { recursive: true, force: true }));

describe.each(READERS)('$reader', (tried) => {
  it('sees samples, columns, labels and splits of each layout', async () => {
    root = await mkdtemp(path.join(tmpdir(), 'tidewheel-zoo-readers-'));
    const { expected, seen } = await read(tried, root);
    await rm(root, { recursive: true, force: true });
    for (const [layout, splits] of expected) {
      const found = seen[layout.name] ?? {};
      const all = Object.values(found).flat();
      const labels = tally(all.map(({ label, cls }) => label ?? cls));
      expect.soft({ name: layout.name, samples: all.length, labels }).toEqual({
        name: layout.name,
        samples: layout.samples,
        labels: layout.labels ?? {},
      });
      const counts = Object.entries(found).map(([split, { length }]) => [split, length]);
      expect.soft(Object.fromEntries(counts)).toEqual(layout.splits ?? { '': layout.samples });
      for (const [split, samples] of Object.entries(splits))
        expect.soft(sorted(found[split]), `${layout.name} ${split}`).toEqual(sorted(samples));
    }
  });
});
