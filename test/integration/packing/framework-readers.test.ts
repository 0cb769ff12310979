/**
 * Framework data loaders open our shards: tf.data, Ray Data and NVIDIA DALI. They take gigabytes and minutes, so only
 * `TIDEWHEEL_READERS=all` runs them. Their environments are created on demand.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { environmentPython } from '../../../cli/recipes/environments.ts';
import type { MemberLine } from '../../../functions/core/packing/model/documents.ts';
import type { PackingSettings } from '../../../functions/core/pipeline/pipeline.ts';
import { bucketKeys } from '../../../functions/core/shared/keys.ts';
import { memberLines, PIPELINE, packAll, RUN, settings } from '../../support/builders/packing.ts';
import { HOSTILE_KEYS } from '../../support/contracts/blob-store.ts';
import { MemoryBlobStore } from '../../support/fakes/memory-blob-store.ts';
import { pythonTools } from './tools.ts';

const run = promisify(execFile);
const ROOT = path.join(import.meta.dirname, '../../..');
const SCRIPT = path.join(import.meta.dirname, 'framework_readers.py');
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const seenSchema = z.record(z.string(), z.record(z.string(), z.string()));

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

const MAGICS = Buffer.from('0a23d7ce'.repeat(500), 'hex');
/** One member per sample and one suffix, as column loaders need. Otherwise the keys are as hostile as keys get. */
const KEYS = [
  ...Array.from({ length: 200 }, (_, index) => `${index % 7}/${index}.jpg`),
  ...HOSTILE_KEYS.map((key) => `8/${key.replaceAll(/[./]/g, ' ')}.jpg`),
];

interface Written {
  readonly folder: string;
  readonly store: MemoryBlobStore;
  readonly lines: readonly MemberLine[];
}

/** Packs the keys and writes the whole generation into a folder. */
async function written(changes: Partial<PackingSettings>): Promise<Written> {
  const store = new MemoryBlobStore();
  for (const [index, key] of KEYS.entries())
    store.seed(
      `${bucketKeys.incoming(PIPELINE)}${key}`,
      index % 50 === 7 ? MAGICS : Buffer.alloc((index * 3_571) % 60_000, key),
    );
  await packAll(store, settings({ shardMegabytes: 1, ...changes }));
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-frameworks-'));
  folders.push(folder);
  const generation = bucketKeys.generation(PIPELINE, RUN);
  for (const key of store.keys(generation)) {
    const file = path.join(folder, key.slice(generation.length));
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, store.body(key));
  }
  return { folder, store, lines: memberLines(store) };
}

const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** The interpreter, and further folders of packages. */
async function environmentOf(reader: string): Promise<{ python: string; also?: string }> {
  if (reader.startsWith('dali')) {
    return { python: path.join(await pythonTools('requirements-dali.txt'), 'bin/python') };
  }
  if (reader === 'tf.data') return { python: await environmentPython(ROOT, 'tf', say) };
  const python = await environmentPython(ROOT, 'ray', say);
  if (reader !== 'ray-tfrecords') return { python };
  /** Ray Data reads TFRecord by TensorFlow's protobuf. */
  const tensorflow = path.join(path.dirname(path.dirname(await environmentPython(ROOT, 'tf', say))), 'lib');
  const [version = ''] = await readdir(tensorflow);
  return { python, also: path.join(tensorflow, version, 'site-packages') };
}

async function read(
  reader: string,
  folder: string,
): Promise<Record<'images' | 'labels', Map<string, string>>> {
  const { python, also } = await environmentOf(reader);
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], ...(also && { PYTHONPATH: also }) };
  const { stdout } = await run(python, [SCRIPT, reader, folder], { env, maxBuffer: 64e6 });
  const lines = stdout.trimEnd().split('\n');
  const { images = {}, labels = {} } = seenSchema.parse(JSON.parse(lines.at(-1) ?? ''));
  return { images: new Map(Object.entries(images)), labels: new Map(Object.entries(labels)) };
}

const stemOf = (name: string): string => name.slice(0, name.lastIndexOf('.'));

/** The expected samples by name, or by position in the shard for loaders that report no names. */
function expected(
  { store, lines }: Written,
  byPlace: boolean,
): Record<'images' | 'labels', Map<string, string>> {
  const images = new Map<string, string>();
  const labels = new Map<string, string>();
  const sources = lines.filter(({ key }) => key !== undefined);
  const shards = store.keys(bucketKeys.shards(PIPELINE, RUN)).map((key) => path.basename(key));
  let shard = -1;
  let place = 0;
  let before = Number.POSITIVE_INFINITY;
  for (const { key = '', name, offset } of sources) {
    if (offset < before) {
      shard += 1;
      place = 0;
    }
    before = offset;
    const id = byPlace ? `${shards[shard]}#${place}` : stemOf(name);
    images.set(id, sha256(store.body(key)));
    labels.set(id, key.slice(bucketKeys.incoming(PIPELINE).length).split('/')[0] ?? '');
    place += 1;
  }
  return { images, labels };
}
const CASES: readonly (readonly [string, string, Partial<PackingSettings>])[] = [
  ['tf.data', 'tfrecord', { format: 'tfrecord', labelType: 'integer' }],
  [
    'tf.data',
    'tfrecord in gzip',
    { format: 'tfrecord', labelType: 'integer', tfrecord: { compression: 'gzip' } },
  ],
  ['ray-tfrecords', 'tfrecord', { format: 'tfrecord', labelType: 'integer' }],
  [
    'ray-tfrecords',
    'tfrecord in gzip',
    { format: 'tfrecord', labelType: 'integer', tfrecord: { compression: 'gzip' } },
  ],
  ['ray-webdataset', 'webdataset', {}],
  ['dali-webdataset', 'webdataset', {}],
  ['dali-recordio', 'recordio', { format: 'recordio' }],
];

describe.runIf(process.env['TIDEWHEEL_READERS'] === 'all')('framework loaders', () => {
  it.each(CASES)(
    '%s reads %s equal to the sources',
    async (reader, _format, changes) => {
      const data = await written(changes);
      const seen = await read(reader, data.folder);
      const { images, labels } = expected(data, reader.startsWith('dali'));
      expect(images.size).toBe(220);
      expect(seen.images).toEqual(images);
      expect(seen.labels).toEqual(labels);
    },
    1_800_000,
  );
});
