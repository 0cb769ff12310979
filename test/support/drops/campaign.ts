/**
 * Drops a folder in bundles, with the uploading process killed at seeded moments, packs and seals it, and compares the
 * dataset with the files. All of it talks to a real S3 emulator through a proxy that counts.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, hash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import { randomBelow, seededUint32 } from '@tidewheel/kit/seeded-random.ts';
import { itemSchema, memberLines, packingKeys, readSealedManifest } from '@tidewheel/packing/dataset.ts';
import { packItem } from '@tidewheel/packing/pack.ts';
import { planShards } from '@tidewheel/packing/plan.ts';
import { sealDataset } from '@tidewheel/packing/seal.ts';
import { type BlobStore, readText } from '@tidewheel/packing/store.ts';
import { openBlobStore } from '../../../functions/aws/s3/open-store.ts';
import { clientConfiguration, startTestEmulator, TEST_KEY } from '../emulator.ts';
import { type CountingProxy, startProxy } from './counting-proxy.ts';

export interface DropCampaign {
  readonly files: number;
  readonly fileBytes: number;
  /** How often the drop is killed. */
  readonly kills: number;
  readonly seed: string;
  /** Smaller than by default, so that a few files make several bundles. */
  readonly bundleBytes?: number;
  /** Also copies the files one by one, and compares the two datasets. */
  readonly copiesPlainly: boolean;
}

export interface DropOutcome {
  readonly requests: Readonly<Record<'drop' | 'plan' | 'pack' | 'seal', Readonly<Record<string, number>>>>;
  readonly killed: number;
  readonly samples: number;
  readonly shards: number;
  /** Members that differ from their file, or from the plain copy's. Empty if all is right. */
  readonly differences: readonly string[];
}

const BUCKET = 'drops';
const CLASSES = 10;

export async function runDropCampaign(campaign: DropCampaign): Promise<DropOutcome> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidewheel-drops-'));
  const emulator = await startTestEmulator();
  const proxy = await startProxy(emulator.url);
  try {
    const expected = await writeFiles(path.join(folder, 'data'), campaign);
    await new S3Client(clientConfiguration(emulator.url)).send(new CreateBucketCommand({ Bucket: BUCKET }));
    const place = { folder, url: proxy.url };
    const killed = await dropUntilDone(proxy, { ...campaign, ...place });
    const drop = proxy.taken();
    await using opened = await openBlobStore({
      bucket: BUCKET,
      region: 'us-east-1',
      endpoint: proxy.url,
      credentials: () => Promise.resolve(TEST_KEY),
    });
    const packed = await pack(opened.store, 'bundled', proxy);
    const differences = differing(packed.members, expected);
    if (campaign.copiesPlainly) {
      await ended(worker({ ...place, pipeline: 'plain', how: 'plain' }));
      const plain = await pack(opened.store, 'plain', proxy);
      differences.push(...differing(packed.members, plain.members));
    }
    const { samples, shards } = packed;
    return { requests: { drop, ...packed.requests }, killed, samples, shards, differences };
  } finally {
    await proxy.stop();
    await emulator.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** @returns SHA-256 by key below incoming/ */
async function writeFiles(
  folder: string,
  { files, fileBytes, seed }: DropCampaign,
): Promise<Map<string, string>> {
  const digests = new Map<string, string>();
  for (let number = 0; number < CLASSES; number += 1)
    await mkdir(path.join(folder, `class-${number}`), { recursive: true });
  for (let index = 0; index < files; index += 1) {
    const name = `class-${index % CLASSES}/${hash('sha1', `${seed} ${index}`).slice(0, 12)}.bin`;
    const body = Buffer.alloc(fileBytes, createHash('sha512').update(`${seed} ${index}`).digest());
    await writeFile(path.join(folder, name), body);
    digests.set(name, hash('sha256', body));
  }
  return digests;
}

interface Place {
  readonly folder: string;
  readonly url: string;
}

function worker({
  folder,
  url,
  pipeline,
  how,
  bundleBytes,
}: Place & { readonly pipeline: string; readonly how: string; readonly bundleBytes?: number }): ChildProcess {
  const program = path.join(import.meta.dirname, 'drop-worker.ts');
  const more = bundleBytes === undefined ? [] : [`${bundleBytes}`];
  return spawn(process.execPath, [program, BUCKET, pipeline, path.join(folder, 'data'), how, ...more], {
    env: {
      PATH: process.env['PATH'],
      XDG_STATE_HOME: folder,
      AWS_ENDPOINT_URL: url,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: TEST_KEY.accessKeyId,
      AWS_SECRET_ACCESS_KEY: TEST_KEY.secretAccessKey,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** Undefined if it was killed. */
const ended = (child: ChildProcess): Promise<number | undefined> =>
  new Promise((resolve) => child.once('exit', (code) => resolve(code ?? undefined)));

/** @returns how often it was killed */
async function dropUntilDone(
  proxy: CountingProxy,
  { kills, seed, ...place }: DropCampaign & Place,
): Promise<number> {
  const next = seededUint32(seed);
  let killed = 0;
  for (;;) {
    const child = worker({ ...place, pipeline: 'bundled', how: 'bundle' });
    // Two writes a bundle: an odd one is the data's, an even one the index's, as far as only one is sent at once.
    if (killed < kills)
      proxy.atWrite(1 + randomBelow(next, 4), randomBelow(next, 2) === 0 ? 'lost' : 'done', () =>
        child.kill('SIGKILL'),
      );
    const code = await ended(child);
    if (code === 0) return killed;
    if (code !== undefined) throw new Error(`the drop ended with exit code ${code}`);
    killed += 1;
  }
}

async function pack(store: BlobStore, pipeline: string, proxy: CountingProxy) {
  const runId = `${pipeline}-000001`;
  const packing = packingSchema.parse({});
  proxy.taken();
  await planShards({ store, now: () => new Date() }, { runId, pipeline, packing });
  const plan = proxy.taken();
  const listed = await readText(store, bucketKeys.planItems(pipeline, runId));
  for (const item of itemSchema.array().parse(JSON.parse(listed ?? '[]')))
    await packItem({ store }, { runId, pipeline, packing, item });
  const packed = proxy.taken();
  const { samples, shards } = await sealDataset({ store }, { runId, pipeline, packing });
  const seal = proxy.taken();
  const members = await digestsOf(store, pipeline, runId);
  return { requests: { plan, pack: packed, seal }, samples, shards, members };
}

/** SHA-256 by key below incoming/, with the sample's label where there is one. */
async function digestsOf(store: BlobStore, pipeline: string, runId: string): Promise<Map<string, string>> {
  const manifest = await readSealedManifest(store, pipeline, runId);
  const digests = new Map<string, string>();
  const incoming = bucketKeys.incoming(pipeline);
  for (const shard of manifest?.shards ?? [])
    for (const { key, sha256 } of await memberLines(store, packingKeys(pipeline, runId), shard))
      if (key !== undefined) digests.set(key.slice(incoming.length), sha256);
  return digests;
}

function differing(found: ReadonlyMap<string, string>, expected: ReadonlyMap<string, string>): string[] {
  const keys = new Set([...found.keys(), ...expected.keys()]);
  return [...keys].filter((key) => found.get(key) !== expected.get(key));
}
