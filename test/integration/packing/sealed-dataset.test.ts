/** The recipes' reader of sealed datasets gives every sample back, from a folder and from S3, in every format. */
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { keyVariables } from '@tidewheel/emulators/access/access-key.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { SplitRule } from '../../../packages/packing/splits/split-rule.ts';
import { compactAll, packedInDrops } from '../../support/builders/compaction.ts';
import { PIPELINE, settings } from '../../support/builders/packing.ts';
import {
  clientConfiguration,
  projectPython,
  startTestEmulator,
  TEST_KEY,
  type TestEmulator,
} from '../../support/emulator.ts';
import type { MemoryBlobStore } from '../../support/fakes/memory-blob-store.ts';

const run = promisify(execFile);
const RECIPES = path.join(import.meta.dirname, '../../../training/recipes');
/** Reads through a pickled copy, as a loader's worker process does. */
const PROGRAM = `
import hashlib, json, pickle, sys
from common.sealed_dataset import SealedDataset
dataset = pickle.loads(pickle.dumps(SealedDataset(sys.argv[1], split=sys.argv[2] or None)))
found = {}
for key in dataset.keys():
    sample = dataset[key]
    digests = [hashlib.sha256(one).hexdigest() for one in sample.members.values()]
    found[key] = {"label": sample.label, "digests": digests}
print(json.dumps({"samples": len(dataset), "labels": dataset.labels, "found": found}))
`;
const printed = z.object({
  samples: z.number(),
  labels: z.record(z.string(), z.number()),
  found: z.record(z.string(), z.object({ label: z.string().nullable(), digests: z.array(z.string()) })),
});

let emulator: TestEmulator;
let client: S3Client;
const folder = mkdtempSync(path.join(tmpdir(), 'sealed-'));

beforeAll(async () => {
  emulator = await startTestEmulator();
  client = new S3Client({ ...clientConfiguration(emulator.url), forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: 'sealed' }));
}, 60_000);

afterAll(async () => {
  client.destroy();
  await emulator.stop();
  rmSync(folder, { recursive: true });
});

async function read(address: string, split = ''): Promise<z.output<typeof printed>> {
  const environment = {
    ...process.env,
    ...keyVariables(TEST_KEY),
    PYTHONPATH: RECIPES,
    AWS_ENDPOINT_URL: emulator.url,
    AWS_REGION: 'us-east-1',
    AWS_DEFAULT_REGION: 'us-east-1',
  };
  const { stdout } = await run(projectPython(), ['-c', PROGRAM, address, split], { env: environment });
  return printed.parse(JSON.parse(stdout));
}

const drops = [
  { 'a/1.jpg': 'one', 'a/1.json': '{"n":1}', 'b/ü 2.jpg': 'two', 'b/ü 2.json': '{"\u2028":2}' },
  { 'b/3.jpg': 'three', 'b/3.json': '{}' },
];

const all = Object.entries(drops.reduce<Record<string, string>>((sum, drop) => ({ ...sum, ...drop }), {}));

/** Each key with its label, if its bytes are there. */
const held = ({ found }: z.output<typeof printed>) =>
  Object.fromEntries(
    all.map(([key, text]) => {
      const { digests, label } = found[key] ?? {};
      return [key, digests?.includes(hash('sha256', text)) === true ? label : 'other bytes'];
    }),
  );
const EXPECTED = Object.fromEntries(all.map(([key]) => [key, key.slice(0, 1)]));

function written(store: MemoryBlobStore, name: string): string {
  const root = path.join(folder, name, PIPELINE);
  for (const key of store.keys(`${PIPELINE}/dataset/`)) {
    const file = path.join(folder, name, key);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, store.body(key));
  }
  return root;
}

describe('the reader of a sealed dataset', () => {
  it.each([
    ['webdataset', {}],
    ['mds', {}],
    ['parquet', {}],
    ['tfrecord', {}],
    ['tfrecord', { tfrecord: { compression: 'gzip' } }],
  ] as const)('gives every sample of %s back (%j)', async (format, more) => {
    const packing = settings({ format, ...more });
    const store = await packedInDrops(drops, packing);
    expect(held(await read(written(store, `${format}-${Object.keys(more).length}`)))).toEqual(EXPECTED);
    await compactAll(store, packing);
    expect(held(await read(written(store, `${format}-${Object.keys(more).length}-joined`)))).toEqual(
      EXPECTED,
    );
  });

  it('reads from S3', async () => {
    const store = await packedInDrops(drops, settings());
    for (const key of store.keys(`${PIPELINE}/`))
      await client.send(new PutObjectCommand({ Bucket: 'sealed', Key: key, Body: store.body(key) }));
    const seen = await read(`s3://sealed/${PIPELINE}`);
    expect(held(seen)).toEqual(EXPECTED);
    expect(seen).toMatchObject({ samples: 3, labels: { a: 0, b: 1 } });
  });

  it('gives the class in a label file', async () => {
    const store = await packedInDrops([{ 'a/1.jpg': 'one', 'a/1.cls': 'zebra\n' }], settings());
    const seen = await read(written(store, 'own-label'));
    expect(seen.labels).toEqual({ zebra: 0 });
    expect(seen.found['a/1.jpg']?.label).toBe('zebra');
  });

  it('reads the samples of one split', async () => {
    const split = { train: 0.5, validation: 0.5, by: 'key' } as const;
    const many = Array.from({ length: 20 }, (_, index) => [`a/${index}.jpg`, `image ${index}`] as const);
    const packing = settings({ split });
    const store = await packedInDrops([Object.fromEntries(many)], packing);
    const root = written(store, 'splits');
    const rule = new SplitRule(split);
    const keysOf = async (name: string) => Object.keys((await read(root, name)).found).sort();
    for (const name of ['train', 'validation']) {
      const expected = many.map(([key]) => key).filter((key) => rule.of(key) === name);
      expect(expected.length).toBeGreaterThan(0);
      expect(await keysOf(name)).toEqual(expected.sort());
    }
    expect(await keysOf('')).toHaveLength(20);
    await expect(read(root, 'test')).rejects.toThrow(
      /there is no split test: digits-000001 has train, validation/,
    );
  });

  it('refuses a shard with other bytes', async () => {
    const store = await packedInDrops(drops, settings());
    const [shard = ''] = store.keys(`${PIPELINE}/dataset/${PIPELINE}-000001/shards/`);
    store.seed(shard, Buffer.from(store.body(shard).toString('latin1').replace('one', 'eno'), 'latin1'));
    await expect(read(written(store, 'other'))).rejects.toThrow(/holds other bytes of a\/1\.jpg/);
  });
});
