/** What a run trains on, from the manifests where they say it and from the bucket where they do not. */
import { beforeEach, describe, expect, it } from 'vitest';
import { datasetOf } from '../../../functions/core/dataset/dataset.ts';
import { pipelineSchema } from '../../../functions/core/pipeline/pipeline.ts';
import { bucketKeys } from '../../../functions/core/shared/keys.ts';
import { runOf } from '../../support/builders/records.ts';
import { fakeClock } from '../../support/fakes/clock.ts';
import { type MemoryObjectStore, memoryObjectStore } from '../../support/fakes/object-store.ts';

let store: MemoryObjectStore;
const [FIRST, SECOND] = ['digits-000001', 'digits-000002'];

beforeEach(() => {
  store = memoryObjectStore(fakeClock());
});

const seal = (generation: string, bytes: readonly number[]) =>
  store.put(
    bucketKeys.manifest('digits', generation),
    JSON.stringify({
      version: 1,
      shards: bytes.map((each, index) => ({ name: `${index}.tar`, bytes: each })),
    }),
  );

const declarationWith = (pin: string) =>
  pipelineSchema.parse({
    name: 'digits',
    dataset: { pin },
    training: { strategy: 'single' },
    compute: { instanceTypes: ['g5.xlarge'] },
  });

describe('a dataset', () => {
  it('knows number and size of its shards from the manifest, without a listing', async () => {
    seal(FIRST, [1_000, 500]);
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
    seal(FIRST, [1_000]);
    seal(SECOND, [7, 8]);
    const { shards } = await datasetOf(store, runOf('digits', 2));
    expect(shards.map((each) => each.shards)).toEqual([['0.tar'], ['0.tar', '1.tar']]);
    expect(shards.map(({ totals }) => totals?.bytes)).toEqual([1_000, 15]);
  });

  it('ends at the version that the declaration pins, and says when there is none', async () => {
    seal(FIRST, [1_000]);
    seal(SECOND, [7, 8]);
    const pinned = (pin: string) =>
      datasetOf(store, { ...runOf('digits', 2), generations: undefined, declaration: declarationWith(pin) });
    expect((await pinned(FIRST)).generations).toEqual([FIRST]);
    expect((await pinned(SECOND)).generations).toEqual([FIRST, SECOND]);
    await expect(pinned('digits-000003')).rejects.toThrow(/digits-000003, which is no sealed generation/);
  });

  it.each(['{}', 'no json', '["key etag"]', '{"shards":[{"name":"x"}]}'])(
    'looks into the bucket when the manifest is %s',
    async (text) => {
      store.put(bucketKeys.manifest('digits', FIRST), text);
      seal(SECOND, [7]);
      store.put(`${bucketKeys.shards('digits', FIRST)}a.tar`, 'twelve bytes');
      const { shards } = await datasetOf(store, runOf('digits', 2));
      expect(shards[0]).toMatchObject({ shards: ['a.tar'], totals: { shards: 1, bytes: 12 } });
    },
  );

  it('is of unknown size when nobody says it and no names are needed', async () => {
    store.put(bucketKeys.manifest('digits', FIRST), '{}');
    expect((await datasetOf(store, runOf('digits', 1))).shards).toEqual([
      { shardsPrefix: bucketKeys.shards('digits', FIRST) },
    ]);
  });

  it('stays what the first attempt saw', async () => {
    seal(FIRST, [1]);
    seal(SECOND, [2]);
    const run = runOf('digits', 2, { generations: [FIRST] });
    expect((await datasetOf(store, run)).generations).toEqual([FIRST]);
  });
});
