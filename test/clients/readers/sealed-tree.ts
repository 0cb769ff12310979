/** A tree of images and of lines, packed and sealed in a format, in a folder as a training job finds it. */

import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import sharp from 'sharp';
import { memberLines, PIPELINE, packAll, RUN, settings } from '../../support/builders/packing.ts';
import { HOSTILE_KEYS } from '../../support/contracts/blob-store.ts';
import { MemoryBlobStore } from '../../support/fakes/memory-blob-store.ts';

const SAMPLES = 220;
const CLASSES = 7;
const SIDE = 90;
const SOURCES_OF_LINES = 12;
const LINES_OF_A_SOURCE = 20;

/** The variants of a dataset that the readers open. */
export const FORMATS = {
  webdataset: {},
  tfrecord: { format: 'tfrecord', labelType: 'integer' },
  'tfrecord in gzip': { format: 'tfrecord', labelType: 'integer', tfrecord: { compression: 'gzip' } },
  mds: { format: 'mds', labelType: 'integer' },
  parquet: { format: 'parquet', labelType: 'integer' },
  // It holds one image a sample and no JSON.
  recordio: { format: 'recordio', accept: ['.png'] },
  lines: { format: 'lines', lines: { kind: 'jsonl', header: 'none' } },
} as const satisfies Readonly<Record<string, Partial<PackingSettings>>>;
export type TriedFormat = keyof typeof FORMATS;

/** What a sample holds: SHA-256 of the image's bytes, of its pixels and of the JSON text, and the label. */
export interface Expected {
  readonly image?: string;
  readonly pixels?: string;
  readonly json?: string;
  readonly label?: string;
}

export interface SealedTree {
  /** A generation, with its shards, indexes and manifest; or the channel of a version. */
  readonly folder: string;
  /** By the name in the shards. */
  readonly samples: ReadonlyMap<string, Expected>;
  /** The names in the order of the shards, for readers that report only the place. */
  readonly places: ReadonlyMap<string, string>;
}

export const sha256 = (bytes: Uint8Array | string): string =>
  createHash('sha256').update(bytes).digest('hex');
/** The magic number of RecordIO, at which its writer has to split a record. */
const MAGICS = Buffer.from('0a23d7ce'.repeat(40), 'hex');

/** One image and one JSON a sample. The names are as hostile as keys get. */
export const STEMS = [
  ...Array.from({ length: SAMPLES - HOSTILE_KEYS.length }, (_, index) => `${index % CLASSES}/${index}`),
  ...HOSTILE_KEYS.map((key) => `${CLASSES}/${key.replaceAll(/[./]/g, ' ')}`),
];

/** Noise, so that no two images are equal and none gets small. */
export async function imageOf(index: number): Promise<{ readonly png: Buffer; readonly pixels: Buffer }> {
  const bytes = 3 * SIDE * SIDE;
  let pixels = Buffer.alloc(0);
  for (let round = 0; pixels.length < bytes; round += 1)
    pixels = Buffer.concat([pixels, createHash('sha512').update(`${index}/${round}`).digest()]);
  pixels = pixels.subarray(0, bytes);
  const png = await sharp(pixels, { raw: { width: SIDE, height: SIDE, channels: 3 } })
    .png()
    .toBuffer();
  return { pixels, png: index % 50 === 7 ? Buffer.concat([png, MAGICS]) : png };
}

export const jsonOf = (index: number): string =>
  JSON.stringify({ id: index, text: `line\u2028 ${index} "é" 日本`, boxes: [index, 2 * index, 7] });

/** Puts the arrivals into the store. @returns what each image's sample holds, by key without its suffix */
async function fillImages(store: MemoryBlobStore): Promise<ReadonlyMap<string, Expected>> {
  const expected = new Map<string, Expected>();
  for (const [index, stem] of STEMS.entries()) {
    const { png, pixels } = await imageOf(index);
    const json = jsonOf(index);
    const key = `${bucketKeys.incoming(PIPELINE)}${stem}`;
    store.seed(`${key}.png`, png);
    store.seed(`${key}.json`, json);
    const label = stem.split('/')[0] ?? '';
    expected.set(key, { image: sha256(png), pixels: sha256(pixels), json: sha256(json), label });
  }
  return expected;
}

/** A sample of lines is a line, and its number is its name. */
function fillLines(store: MemoryBlobStore): ReadonlyMap<string, Expected> {
  const expected = new Map<string, Expected>();
  for (let source = 0; source < SOURCES_OF_LINES; source += 1) {
    const numbers = Array.from(
      { length: LINES_OF_A_SOURCE },
      (_, index) => source * LINES_OF_A_SOURCE + index,
    );
    const texts = numbers.map(jsonOf);
    for (const [index, number] of numbers.entries())
      expected.set(String(number), { json: sha256(texts[index] ?? '') });
    // The last line of a source may lack its newline.
    store.seed(
      `${bucketKeys.incoming(PIPELINE)}part-${source}.jsonl`,
      texts.join('\n') + (source % 2 ? '\n' : ''),
    );
  }
  return expected;
}

/** Packs the tree and writes the generation into the folder. */
export async function sealTree(format: TriedFormat, folder: string): Promise<SealedTree> {
  const store = new MemoryBlobStore();
  const isLines = format === 'lines';
  const sources = isLines ? fillLines(store) : await fillImages(store);
  await packAll(store, settings({ ...FORMATS[format], shardMegabytes: isLines ? 0.005 : 1 }));
  const generation = bucketKeys.generation(PIPELINE, RUN);
  for (const key of store.keys(generation)) {
    const file = path.join(folder, key.slice(generation.length));
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, store.body(key));
  }
  return isLines
    ? { folder, samples: sources, places: new Map() }
    : { folder, ...named(store, sources, format === 'recordio') };
}

/** The sources under the names that the shards give them. */
function named(
  store: MemoryBlobStore,
  sources: ReadonlyMap<string, Expected>,
  isImageOnly: boolean,
): Pick<SealedTree, 'samples' | 'places'> {
  const samples = new Map<string, Expected>();
  const places = new Map<string, string>();
  const shards = store
    .keys(bucketKeys.shards(PIPELINE, RUN))
    .filter((key) => path.basename(key).startsWith('shard-'));
  let shard = -1;
  let place = 0;
  let before = Number.POSITIVE_INFINITY;
  for (const { key, name, offset } of memberLines(store)) {
    if (key?.endsWith('.png') !== true) continue;
    if (offset < before) {
      shard += 1;
      place = 0;
    }
    before = offset;
    const stem = name.slice(0, -'.png'.length);
    const { json, ...image } = sources.get(key.slice(0, -'.png'.length)) ?? {};
    samples.set(stem, isImageOnly || json === undefined ? image : { ...image, json });
    places.set(`${path.basename(shards[shard] ?? '')}#${place}`, stem);
    place += 1;
  }
  return { samples, places };
}
