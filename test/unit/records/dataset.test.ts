/** The generations that a run trains on, and the shards in their manifests. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { pipelineSchema } from '@tidewheel/declaration/pipeline.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { datasetOf } from '../../../functions/records/run-dataset.ts';
import { runOf } from '../../support/builders/records.ts';
import { sealGeneration } from '../../support/builders/sealed-generation.ts';
import { fakeClock } from '../../support/fakes/clock.ts';
import { type MemoryObjectStore, memoryObjectStore } from '../../support/fakes/object-store.ts';

let store: MemoryObjectStore;
const [FIRST, SECOND] = ['digits-000001', 'digits-000002'];

beforeEach(() => {
  store = memoryObjectStore(fakeClock());
});

const seal = (generation: string, bytes: readonly number[]) =>
  sealGeneration(store, generation, {
    shards: bytes.map((each, index) => ({ name: `${index}.tar`, bytes: each })),
  });

const declarationWith = (pin: string) =>
  pipelineSchema.parse({
    name: 'digits',
    dataset: { pin },
    training: { strategy: 'single' },
    compute: { instanceTypes: ['g5.xlarge'] },
  });

describe('a dataset', () => {
  it('knows its shards from the manifest without a listing', async () => {
    await seal(FIRST, [1_000, 500]);
    const listed: string[] = [];
    const noting = { ...store, list: (prefix: string) => (listed.push(prefix), store.list(prefix)) };
    expect(await datasetOf(noting, runOf('digits', 1))).toEqual({
      generations: [FIRST],
      shards: [
        {
          shardsPrefix: bucketKeys.shards('digits', FIRST),
          shards: ['0.tar', '1.tar'],
          totals: { shards: 2, bytes: 1_500 },
        },
      ],
    });
    expect(listed).not.toContain(bucketKeys.shards('digits', FIRST));
  });

  it('names each shard of several generations', async () => {
    await seal(FIRST, [1_000]);
    await seal(SECOND, [7, 8]);
    const { shards } = await datasetOf(store, runOf('digits', 2));
    expect(shards.map((each) => each.shards)).toEqual([['0.tar'], ['0.tar', '1.tar']]);
    expect(shards.map(({ totals }) => totals.bytes)).toEqual([1_000, 15]);
  });

  it('knows the index of each split', async () => {
    const names = ['train', 'validation'] as const;
    const sealed = {
      shards: names.map((name) => ({ name: `${name}/0.mds`, bytes: 1 })),
      splits: names.map((name) => ({ name })),
      indexes: names.map((name) => `${name}/index.json`),
    };
    await sealGeneration(store, FIRST, sealed);
    const { shards } = await datasetOf(store, runOf('digits', 1));
    expect(shards.map(({ indexes }) => indexes)).toEqual([['index.json'], ['index.json']]);
  });

  it('ends at the pinned version, or reports its absence', async () => {
    await seal(FIRST, [1_000]);
    await seal(SECOND, [7, 8]);
    const pinned = (pin: string) =>
      datasetOf(store, { ...runOf('digits', 2), generations: undefined, declaration: declarationWith(pin) });
    expect((await pinned(FIRST)).generations).toEqual([FIRST]);
    expect((await pinned(SECOND)).generations).toEqual([FIRST, SECOND]);
    await expect(pinned('digits-000003')).rejects.toThrow(/digits-000003, which is no sealed generation/);
  });

  it.each([
    ['{"version":2,"shards":[]}', 'has version 2, and release 0.2.0 reads version 1: use the release'],
    ['{"version":1}', 'is damaged: restore it'],
    ['{"version":1,"shards":[{"name":"x"}]}', 'is damaged: restore it'],
    ['["key etag"]', 'is damaged: restore it'],
    ['no json', 'is damaged: restore it'],
  ])('refuses the manifest %s', async (text, problem) => {
    const key = bucketKeys.manifest('digits', FIRST);
    store.put(key, text);
    await seal(SECOND, [7]);
    await expect(datasetOf(store, runOf('digits', 2, { generations: [FIRST, SECOND] }))).rejects.toThrow(
      `${key} ${problem}`,
    );
  });

  it('refuses generations of two formats', async () => {
    const shards = [{ name: '0.tar', bytes: 1 }];
    const put = (generation: string, kind: Readonly<Record<string, string>>): void =>
      store.put(bucketKeys.manifest('digits', generation), JSON.stringify({ version: 1, shards, ...kind }));
    put(FIRST, { format: 'tfrecord' });
    put(SECOND, { format: 'tfrecord', compression: 'gzip' });
    const run = runOf('digits', 2, { generations: [FIRST, SECOND] });
    await expect(datasetOf(store, run)).rejects.toThrow(
      'digits-000001 (tfrecord) and digits-000002 (tfrecord in gzip), and no reader takes both',
    );
    put(SECOND, { format: 'tfrecord' });
    expect((await datasetOf(store, run)).shards).toHaveLength(2);
  });

  it('refuses a manifest that is gone', async () => {
    await expect(datasetOf(store, runOf('digits', 1, { generations: [FIRST] }))).rejects.toThrow(
      `${bucketKeys.manifest('digits', FIRST)} is gone: restore it`,
    );
  });

  it('stays what the first attempt saw', async () => {
    await seal(FIRST, [1]);
    await seal(SECOND, [2]);
    const run = runOf('digits', 2, { generations: [FIRST] });
    expect((await datasetOf(store, run)).generations).toEqual([FIRST]);
  });
});
