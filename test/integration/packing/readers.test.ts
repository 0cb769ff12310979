/** Shards packed through MiniStack, opened by readers that we did not write. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type OpenStore, openBlobStore } from '../../../functions/aws/s3/open-store.ts';
import { layout } from '../../../functions/core/layout.ts';
import { joinChunks } from '../../../functions/core/packing/port.ts';
import { type Manifest, type MemberLine, manifestSchema } from '../../../functions/core/packing/records.ts';
import { decompress, linesOf } from '../../../functions/core/packing/spool.ts';
import { HOSTILE_KEYS } from '../../unit/packing/blob-store-contract.ts';
import { clientConfiguration, startTestEmulator, type TestEmulator } from '../emulator.ts';
import { runWorker } from './run-worker.ts';
import { pythonTools } from './tools.ts';

const run = promisify(execFile);
const BUCKET = 'readers';
const PIPELINE = 'readers';
const RUN = 'readers-000001';
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const seenSchema = z.object({
  tarfile: z.record(z.string(), z.string()),
  webdataset: z.record(z.string(), z.string()),
});

describe('readers that are not ours', () => {
  let emulator: TestEmulator;
  let opened: OpenStore;
  let folder: string;
  let lines: MemberLine[];
  let manifest: Manifest;
  const sources = new Map<string, string>();

  const download = async (key: string): Promise<Uint8Array> => {
    const found = await opened.store.get(key);
    if (found.kind !== 'found') throw new Error(`no ${key}`);
    return joinChunks(found.chunks);
  };

  beforeAll(async () => {
    emulator = await startTestEmulator();
    const { endpoint, region, credentials } = clientConfiguration(emulator.url);
    const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
    await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
    client.destroy();
    opened = await openBlobStore({
      bucket: BUCKET,
      endpoint,
      region,
      credentials: () => Promise.resolve(credentials),
    });
    const names = [
      ...HOSTILE_KEYS,
      ...Array.from({ length: 200 }, (_, index) => `class ${index % 7}/${index}.jpg`),
    ];
    for (const [index, name] of names.entries()) {
      const body = Buffer.alloc((index * 3_571) % 60_000, name);
      sources.set(`${layout.incoming(PIPELINE)}${name}`, sha256(body));
      await opened.store.put(`${layout.incoming(PIPELINE)}${name}`, body);
    }
    const end = await runWorker({
      endpoint: emulator.url,
      bucket: BUCKET,
      pipeline: PIPELINE,
      runId: RUN,
      settings: { shardMegabytes: 1 },
    });
    if (end.code !== 0) throw new Error(end.errors);
    manifest = manifestSchema.parse(
      JSON.parse(Buffer.from(await download(layout.manifest(PIPELINE, RUN))).toString()),
    );
    folder = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-readers-'));
    lines = [];
    for (const shard of manifest.shards) {
      await writeFile(
        path.join(folder, shard.name),
        await download(`${layout.shards(PIPELINE, RUN)}${shard.name}`),
      );
      const list = await download(`${layout.generation(PIPELINE, RUN)}${shard.memberList}`);
      for (const line of linesOf(decompress(list))) lines.push(JSON.parse(line));
    }
  }, 300_000);

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
    await opened[Symbol.asyncDispose]();
    await emulator.stop();
  });

  it('find every source under the name that the manifest gives it', async () => {
    const python = path.join(await pythonTools('requirements.txt'), 'bin/python');
    const { stdout } = await run(python, [path.join(import.meta.dirname, 'readers.py'), folder], {
      maxBuffer: 64e6,
    });
    const seen = seenSchema.parse(JSON.parse(stdout));
    const listed = new Map(lines.map(({ name, sha256 }) => [name, sha256]));
    expect(new Map(Object.entries(seen.tarfile))).toEqual(listed);
    expect(new Map(Object.entries(seen.webdataset))).toEqual(listed);
    const packed = new Map(
      lines.flatMap((line) => (line.key === undefined ? [] : [[line.key, line.sha256]])),
    );
    expect(packed).toEqual(sources);
  }, 300_000);

  it('include GNU tar, which finds nothing to complain about', async () => {
    const count = new Map<string, number>();
    for (const { name } of manifest.shards) {
      const { stdout, stderr } = await run('tar', [
        '-tf',
        path.join(folder, name),
        '--quoting-style=literal',
      ]);
      expect(stderr).toBe('');
      for (const member of stdout.trimEnd().split('\n')) count.set(member, (count.get(member) ?? 0) + 1);
    }
    expect([...count.keys()].sort()).toEqual(lines.map(({ name }) => name).sort());
  });
});
