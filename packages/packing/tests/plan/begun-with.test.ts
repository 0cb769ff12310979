/** What a dataset was begun with stays: another declaration is refused before anything is packed. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import { compactAll, current, incoming, runOf } from '../../../../test/support/builders/compaction.ts';
import { PIPELINE, packAll, settings } from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { giveUpGeneration } from '../../versions/repair-generation.ts';

const packing = settings({ shardMegabytes: 0.06 });

async function begun(rules: PackingSettings = packing): Promise<MemoryBlobStore> {
  const store = new MemoryBlobStore();
  store.seed(`${incoming}cat/1.jpg`, 'one');
  await packAll(store, rules, runOf(1));
  store.seed(`${incoming}dog/2.jpg`, 'two');
  return store;
}

const CHANGES: readonly (readonly [string, Partial<PackingSettings>, RegExp])[] = [
  [
    'format',
    { format: 'tfrecord' },
    /packing\.format is "tfrecord", but digits-000001 was packed with "webdataset", so no reader takes both/,
  ],
  [
    'compression',
    { format: 'tfrecord', tfrecord: { compression: 'gzip' } },
    /packing\.tfrecord\.compression is "gzip", but .* was packed with "none"/,
  ],
  ['label', { label: 'none' }, /packing\.label is "none", but .* was packed with "parentFolder"/],
  [
    'pattern of the label',
    { label: 'namePattern', labelPattern: '^([a-z]+)/' },
    /packing\.label is .*; packing\.labelPattern is ".*", but .* was packed with not declared/,
  ],
  ['inner suffixes', { innerSuffixes: ['north'] }, /packing\.innerSuffixes is \["north"\], but/],
  ['level of the label', { labelLevel: 1 }, /packing\.labelLevel is 1, but .* was packed with not declared/],
  ['join', { join: { mask: 'masks/*' } }, /packing\.join is \{"mask":"masks\/\*"\}, but /],
  [
    'prepared images',
    { prepare: packingSchema.parse({ prepare: { image: { maxSide: 16 } } }).prepare },
    /packing\.prepare\.image is \{.*"maxSide":16\}, but .* was packed with \{\}, so the dataset would mix/,
  ],
  ['split', { split: { train: 1, by: 'key' } }, /packing\.split is .*, but .* was packed with not declared/],
];

/** A next run packs by it, beside what was packed by another one. */
const ALLOWED: Readonly<Partial<Record<keyof PackingSettings, PackingSettings>>> = {
  shardMegabytes: settings({ shardMegabytes: 1 }),
  seed: settings({ seed: 7 }),
  accept: settings({ accept: ['.txt'] }),
  archives: settings({ archives: 'unpack' }),
  ignore: settings({ ignore: ['*.bak'] }),
  shuffle: settings({ shuffle: false }),
  shardsMultipleOf: settings({ shardsMultipleOf: 1 }),
  leastShardsPerWorker: settings({ leastShardsPerWorker: 1 }),
  require: settings({ require: ['image'] }),
  waitHours: settings({ waitHours: 1 }),
  reject: settings({ reject: ['notText'] }),
  mayReject: settings({ mayReject: '2 %' }),
  remainder: settings({ remainder: 'even' }),
  balance: settings({ balance: 'over' }),
  hold: settings({ hold: { rejected: '90 %' } }),
  whenDone: settings({ whenDone: 'delete' }),
};

/** Rows of CHANGES and below, and what belongs to one of them. */
const REFUSED: readonly (keyof PackingSettings)[] = [
  'format',
  'tfrecord',
  'lines',
  'records',
  'label',
  'labelPattern',
  'labelLevel',
  'labelType',
  'annotations',
  'innerSuffixes',
  'join',
  'prepare',
  'split',
];

it('each field of packing may change, or may not', () => {
  const fields = Object.keys(packingSchema.shape);
  expect([...Object.keys(ALLOWED), ...REFUSED].toSorted()).toEqual(fields.toSorted());
});

describe('another declaration', () => {
  it.each(Object.entries(ALLOWED))('of %s packs beside what is there', async (_, changed) => {
    const store = await begun();
    store.seed(`${incoming}dog/3.txt`, 'three');
    expect(await packAll(store, changed, runOf(2))).toMatchObject({ status: 'sealed' });
    expect((await current(store)).map(({ generation }) => generation)).toEqual([runOf(1), runOf(2)]);
  });

  it.each(CHANGES)('of the %s is refused, and nothing is sealed', async (_, change, message) => {
    const store = await begun();
    await expect(packAll(store, { ...packing, ...change }, runOf(2))).rejects.toThrow(message);
    await expect(packAll(store, { ...packing, ...change }, runOf(2))).rejects.toThrow(
      /declare it as it was, or drop the data into a new pipeline, or .*: npx --no-install tidewheel data repair digits digits-000001 --give-up$/,
    );
    expect(store.keys(bucketKeys.generation(PIPELINE, runOf(2)))).toEqual([]);
    expect(await packAll(store, packing, runOf(3))).toMatchObject({ status: 'sealed', samples: 1 });
  });

  it.each<readonly [Partial<PackingSettings>, Partial<PackingSettings>, RegExp]>([
    [
      { format: 'tfrecord', label: 'none' },
      { labelType: 'integer' },
      /packing\.labelType is "integer", but digits-000001 was packed with "text"/,
    ],
    [{ format: 'parquet', label: 'none' }, { labelType: 'integer' }, /packing\.labelType is "integer"/],
    [
      { format: 'lines', label: 'none' },
      { lines: { kind: 'jsonl', header: 'none' } },
      /packing\.lines\.kind is "jsonl", but digits-000001 was packed with "text"/,
    ],
  ])('of a dataset with %j is refused: %j', async (rules, change, message) => {
    const store = await begun({ ...packing, ...rules });
    await expect(packAll(store, { ...packing, ...rules, ...change }, runOf(2))).rejects.toThrow(message);
    expect(await packAll(store, { ...packing, ...rules }, runOf(3))).toMatchObject({ samples: 1 });
  });

  it('is refused after a compaction too', async () => {
    const store = await begun();
    await packAll(store, packing, runOf(2));
    await compactAll(store, packing);
    store.seed(`${incoming}dog/3.jpg`, 'three');
    await expect(packAll(store, { ...packing, label: 'none' }, runOf(3))).rejects.toThrow(/packing\.label/);
  });

  it('is taken when the generations before are given up', async () => {
    const store = await begun();
    await giveUpGeneration(store, {
      pipeline: PIPELINE,
      generation: runOf(1),
      pin: () => Promise.resolve(undefined),
    });
    const changed = { ...packing, label: 'none', format: 'tfrecord' } as const;
    expect(await packAll(store, changed, runOf(2))).toMatchObject({ status: 'sealed', samples: 2 });
    expect((await current(store)).map(({ format }) => format)).toEqual(['tfrecord']);
  });

  it('cannot be seen of the labels of earlier releases', async () => {
    const store = await begun();
    const key = bucketKeys.manifest(PIPELINE, runOf(1));
    const { labelRule, ...manifest } = JSON.parse(store.body(key).toString());
    expect(labelRule).toEqual({ label: 'parentFolder' });
    store.seed(key, JSON.stringify(manifest));
    expect(await packAll(store, { ...packing, label: 'none' }, runOf(2))).toMatchObject({ samples: 1 });
  });
});
