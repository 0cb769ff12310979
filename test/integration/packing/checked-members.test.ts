/**
 * Large objects, uploaded by boto3 and by AWS's SDK, are compared with what S3 keeps of them. CRC-64/NVME is left to the
 * faster server of large-members.test.ts.
 */

import { execFile } from 'node:child_process';
import { createHash, hash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { type ChecksumAlgorithm, S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { keptSum, sumOf } from '@tidewheel/packing/checksums.ts';
import { type Manifest, memberLines, packingKeys, readSealedManifest } from '@tidewheel/packing/dataset.ts';
import { verifyGeneration } from '@tidewheel/packing/maintain.ts';
import { joinChunks } from '@tidewheel/packing/store.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OpenStore } from '../../../functions/aws/s3/open-store.ts';
import { packPipeline, settings } from '../../support/builders/packing.ts';
import { clientConfiguration, projectPython, startTestEmulator, TEST_KEY } from '../../support/emulator.ts';
import { openTestBucket } from '../../support/test-bucket.ts';
import type { RunningServer } from './tools.ts';

const BUCKET = 'checked';
/** The smallest that is copied, and a byte. */
const BODY = Buffer.alloc(16 * 1024 * 1024 + 1, createHash('sha512').update('body').digest());
const SHA256 = { sha256: hash('sha256', BODY) };
const crc = (kind: 'crc32' | 'crc32c') => ({
  sha256: '',
  ...keptSum({ kind, base64: sumOf(kind, BODY) }),
});

let server: RunningServer;
let opened: OpenStore;

beforeAll(async () => {
  server = await startTestEmulator();
  opened = await openTestBucket(server.url, BUCKET);
  await uploadByBoto(server.url);
  const client = new S3Client({ ...clientConfiguration(server.url), forcePathStyle: true });
  await uploadBySdk(client, 'crc32c/incoming/parts.bin', 'CRC32C');
  client.destroy();
}, 300_000);

afterAll(async () => {
  await opened[Symbol.asyncDispose]();
  await server.stop();
});

async function uploadByBoto(endpoint: string): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-ways-'));
  try {
    const file = path.join(folder, 'body.bin');
    await writeFile(file, BODY);
    const script = path.join(import.meta.dirname, 'upload_ways.py');
    const { accessKeyId, secretAccessKey } = TEST_KEY;
    const env = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
    const region = { AWS_DEFAULT_REGION: 'us-east-1', HOME: folder };
    const args = [script, endpoint, BUCKET, file];
    await promisify(execFile)(projectPython(), args, { env: { ...env, ...region } });
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function uploadBySdk(client: S3Client, key: string, algorithm: ChecksumAlgorithm): Promise<void> {
  const params = { Bucket: BUCKET, Key: key, Body: BODY, ChecksumAlgorithm: algorithm };
  await new Upload({ client, params, partSize: 8 * 1024 * 1024 }).done();
}

async function packed(pipeline: string): Promise<Manifest> {
  const packing = settings({ label: 'none', shuffle: false });
  await packPipeline(opened.store, { runId: `${pipeline}-000001`, pipeline, packing });
  const manifest = await readSealedManifest(opened.store, pipeline, `${pipeline}-000001`);
  if (manifest === undefined) throw new Error('nothing sealed');
  return manifest;
}

async function linesOf(manifest: Manifest): Promise<Record<string, object>> {
  const keys = packingKeys(manifest.pipeline, manifest.generation);
  const lists = manifest.shards.map((shard) => memberLines(opened.store, keys, shard));
  const lines = (await Promise.all(lists)).flat();
  return Object.fromEntries(
    lines.map(({ name, sha256, crc32, crc32c, crc64nvme, unchecked }) => [
      name,
      Object.fromEntries(
        Object.entries({ sha256, crc32, crc32c, crc64nvme, unchecked }).filter(
          ([, value]) => value !== undefined,
        ),
      ),
    ]),
  );
}

async function problemsOf(manifest: Manifest): Promise<readonly string[]> {
  return (await verifyGeneration(opened.store, manifest)).problems;
}

/** Flips a bit in the middle of each shard. */
async function damage({ pipeline, generation, shards }: Manifest): Promise<void> {
  for (const { name } of shards) {
    const key = `${bucketKeys.shards(pipeline, generation)}${name}`;
    const found = await opened.store.get(key);
    const body = found.kind === 'found' ? Buffer.from(joinChunks(found.chunks)) : Buffer.alloc(0);
    const middle = body.length >> 1;
    body.writeUInt8(body.readUInt8(middle) ^ 1, middle);
    await opened.store.put(key, body);
  }
}

describe('large objects', () => {
  it.each([
    ['crc32', { 'default-parts.bin': crc('crc32'), 'default-whole.bin': crc('crc32') }],
    ['crc32c', { 'parts.bin': crc('crc32c') }],
    [
      'others',
      {
        'none-parts.bin': { ...crc('crc32'), unchecked: true },
        'none-whole.bin': SHA256,
        'sha1-parts.bin': SHA256,
        'sha1-whole.bin': SHA256,
        'sha256-parts.bin': SHA256,
        'sha256-whole.bin': SHA256,
      },
    ],
  ])('are compared by what S3 keeps (%s)', async (pipeline, lines) => {
    const manifest = await packed(pipeline);
    expect(await linesOf(manifest)).toEqual(lines);
    expect(await problemsOf(manifest)).toEqual([]);
    await damage(manifest);
    expect((await problemsOf(manifest)).join()).toContain('holds other bytes for');
  });
});
