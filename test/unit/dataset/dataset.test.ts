/** What a run trains on: the shards that the manifests of its generations name. */

import { beforeEach, describe, expect, it } from 'vitest';
import { datasetOf } from '../../../functions/core/dataset/dataset.ts';
import { pipelineSchema } from '../../../functions/core/pipeline/pipeline.ts';
import { bucketKeys } from '../../../functions/core/shared/keys.ts';
import { sealedManifest } from '../../support/builders/generations.ts';
import { runOf } from '../../support/builders/records.ts';
import { fakeClock } from '../../support/fakes/clock.ts';
import { type MemoryObjectStore, memoryObjectStore } from '../../support/fakes/object-store.ts';

let store: MemoryObjectStore;
const [FIRST, SECOND] = ['digits-000001', 'digits-000002'];

beforeEach(() => {
  store = memoryObjectStore(fakeClock());
});

const seal = (generation: string, bytes: readonly number[]) =>
  store.put(...sealedManifest('digits', generation, bytes));

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
    expect(shards.map(({ totals }) => totals.bytes)).toEqual([1_000, 15]);
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

  it.each([undefined, 'no json', '{"version":1,"shards":[{"name":"x"}]}'])(
    'is refused when a manifest is %s',
    async (text) => {
      const key = bucketKeys.manifest('digits', FIRST);
      if (text !== undefined) store.put(key, text);
      await expect(datasetOf(store, runOf('digits', 1, { generations: [FIRST] }))).rejects.toMatchObject({
        name: 'LaunchRefusedError',
        message: expect.stringMatching(/^s3:.*manifest\.json is .*: restore an older version/),
      });
    },
  );

  it.each(['{}', '["key etag"]', '{"version":2,"shards":[]}'])(
    'is refused when a manifest of another version is %s',
    async (text) => {
      store.put(bucketKeys.manifest('digits', FIRST), text);
      await expect(datasetOf(store, runOf('digits', 1))).rejects.toMatchObject({
        name: 'StoredVersionError',
        message: expect.stringMatching(/reads version 1: use the release/),
      });
    },
  );

  it('stays what the first attempt saw', async () => {
    seal(FIRST, [1]);
    seal(SECOND, [2]);
    const run = runOf('digits', 2, { generations: [FIRST] });
    expect((await datasetOf(store, run)).generations).toEqual([FIRST]);
  });
});
