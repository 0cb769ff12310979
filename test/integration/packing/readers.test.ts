/** Independent readers open shards that were packed through MiniStack. */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { type Manifest, type MemberLine, manifestSchema } from '@tidewheel/packing/dataset.ts';
import { joinChunks } from '@tidewheel/packing/store.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type OpenStore } from '../../../functions/aws/s3/open-store.ts';
import { decompress, linesOf } from '../../../packages/packing/documents/compressed-lines.ts';
import { HOSTILE_KEYS } from '../../support/contracts/blob-store.ts';
import { projectPython, startTestEmulator, type TestEmulator } from '../../support/emulator.ts';
import { openTestBucket } from '../../support/test-bucket.ts';
import { runWorker } from './run-worker.ts';
import { packingTools } from './tools.ts';

const run = promisify(execFile);
const BUCKET = 'readers';
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const seenSchema = z.record(z.string(), z.record(z.string(), z.string()));

let emulator: TestEmulator;
let opened: OpenStore;

beforeAll(async () => {
  emulator = await startTestEmulator();
  opened = await openTestBucket(emulator.url, BUCKET);
}, 60_000);

afterAll(async () => {
  await opened[Symbol.asyncDispose]();
  await emulator.stop();
});

const names = Array.from({ length: 200 }, (_, index) => `${index % 7}/${index}.jpg`);
/** Keys that climb out of folders, hide files, break lines, are too long for a file, or share a name. */
const dotted = `${'d'.repeat(125)}${'.x'.repeat(30)}`;
const ODD_KEYS = [
  '../../climbing.jpg',
  '/leading.jpg',
  '//twice.jpg',
  'inner/../climbing.jpg',
  '..',
  '...',
  'new\nline.jpg',
  'tab\there.jpg',
  '-rf.jpg',
  'folding.JPG',
  'folding.jpg',
  'folding.seg.png',
  '__hidden__/a.jpg',
  'caf\u00e9.jpg',
  'cafe\u0301.jpg',
  `${'k'.repeat(980)}.jpg`,
  `${'k'.repeat(400)}.${'s'.repeat(500)}`,
  `${dotted}/one.jpg`,
  `${dotted}/two.jpg`,
];
/** Formats with columns take only samples with equal columns. A tar takes any key. */
const CASES = {
  webdataset: {
    keys: [...HOSTILE_KEYS, ...ODD_KEYS, ...names],
    // A text alone is a sample, too.
    settings: { format: 'webdataset', require: [] },
  },
  tfrecord: { keys: names, settings: { format: 'tfrecord', labelType: 'integer' } },
  'tfrecord in gzip': {
    keys: names,
    settings: { format: 'tfrecord', labelType: 'integer', tfrecord: { compression: 'gzip' } },
  },
  mds: { keys: names, settings: { format: 'mds', labelType: 'integer' } },
} as const;
type Case = keyof typeof CASES;

describe.each(Object.keys(CASES) as Case[])('independent readers of %s', (format) => {
  const pipeline = `readers-${format.replaceAll(' ', '-')}`;
  const runId = `${pipeline}-000001`;
  const { keys, settings } = CASES[format];
  let folder: string;
  let manifest: Manifest;
  let lines: MemberLine[];
  /** Key under incoming/ to SHA-256. */
  const sources = new Map<string, string>();

  const download = async (key: string): Promise<Uint8Array> => {
    const found = await opened.store.get(key);
    if (found.kind !== 'found') throw new Error(`no ${key}`);
    return joinChunks(found.chunks);
  };

  const read = async (): Promise<Record<string, Map<string, string>>> => {
    const python = path.join(await packingTools(), 'bin/python');
    const torch = path.join(path.dirname(path.dirname(projectPython())), 'lib');
    const sites = (await readdir(torch)).map((version) => path.join(torch, version, 'site-packages'));
    const script = path.join(import.meta.dirname, 'readers.py');
    const { stdout } = await run(python, [script, format, folder, ...sites], { maxBuffer: 64e6 });
    const seen = seenSchema.parse(JSON.parse(stdout));
    return Object.fromEntries(
      Object.entries(seen).map(([reader, all]) => [reader, new Map(Object.entries(all))]),
    );
  };

  beforeAll(async () => {
    for (const [index, name] of keys.entries()) {
      const body = Buffer.alloc((index * 3_571) % 60_000, name);
      sources.set(name, sha256(body));
      await opened.store.put(`${bucketKeys.incoming(pipeline)}${name}`, body);
    }
    const worker = { endpoint: emulator.url, bucket: BUCKET, pipeline, runId };
    const end = await runWorker({ ...worker, settings: { ...settings, shardMegabytes: 1 } });
    if (end.code !== 0) throw new Error(end.errors);
    manifest = manifestSchema.parse(
      JSON.parse(Buffer.from(await download(bucketKeys.manifest(pipeline, runId))).toString()),
    );
    folder = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-readers-'));
    await mkdir(path.join(folder, 'shards'));
    lines = [];
    for (const shard of manifest.shards) {
      await writeFile(
        path.join(folder, 'shards', shard.name),
        await download(`${bucketKeys.shards(pipeline, runId)}${shard.name}`),
      );
      const list = await download(`${bucketKeys.generation(pipeline, runId)}${shard.memberList}`);
      for (const line of linesOf(decompress(list))) lines.push(JSON.parse(line));
    }
    const index = await opened.store.get(`${bucketKeys.generation(pipeline, runId)}index.json`);
    if (index.kind === 'found') await writeFile(path.join(folder, 'index.json'), joinChunks(index.chunks));
  }, 600_000);

  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.runIf(format === 'webdataset')(
    'find every source under its listed name',
    async () => {
      const seen = await read();
      const listed = new Map(lines.map(({ name, sha256 }) => [name, sha256]));
      expect(seen['tarfile']).toEqual(listed);
      expect(seen['webdataset']).toEqual(listed);
      const from = bucketKeys.incoming(pipeline).length;
      const packed = new Map(
        lines.flatMap(({ key, sha256 }) => (key === undefined ? [] : [[key.slice(from), sha256]])),
      );
      expect(packed).toEqual(sources);
    },
    300_000,
  );

  it.runIf(format === 'webdataset')('include GNU tar, which unpacks without warnings', async () => {
    const members: string[] = [];
    const unpacked = path.join(folder, 'unpacked');
    await mkdir(unpacked);
    for (const { name } of manifest.shards) {
      const shard = path.join(folder, 'shards', name);
      const { stdout, stderr } = await run('tar', ['-tf', shard, '--quoting-style=literal']);
      const extracted = await run('tar', ['-xf', shard, '-C', unpacked]);
      expect(stderr + extracted.stderr).toBe('');
      members.push(...stdout.trimEnd().split('\n'));
    }
    expect(members.sort()).toEqual(lines.map(({ name }) => name).sort());
    for (const { name, sha256: expected } of lines)
      expect(sha256(await readFile(path.join(unpacked, name)))).toBe(expected);
  });

  it.runIf(format !== 'webdataset')(
    'read images and labels equal to the sources',
    async () => {
      const { images, labels } = await read();
      const stem = (name: string): string => name.slice(0, -'.jpg'.length);
      expect(images).toEqual(new Map(keys.map((name) => [stem(name), sources.get(name)])));
      expect(labels).toEqual(new Map(keys.map((name) => [stem(name), name.split('/')[0]])));
    },
    300_000,
  );
});
