import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { describe, expect, it } from 'vitest';
import {
  incoming,
  memberLines,
  now,
  PIPELINE,
  packAll,
  planAndPack,
  RUN,
  readTar,
  settings,
  unpack,
} from '../../../test/support/builders/packing.ts';
import { HOSTILE_KEYS } from '../../../test/support/contracts/blob-store.ts';
import { MemoryBlobStore } from '../../../test/support/fakes/memory-blob-store.ts';
import { planShards } from '../plan/plan-shards.ts';
import { sealDataset } from '../seal/seal-dataset.ts';

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);

function filled(count: number): MemoryBlobStore {
  const store = new MemoryBlobStore();
  for (let index = 0; index < count; index += 1) {
    store.seed(`${incoming}${index % 10}/${index}.png`, Buffer.concat([PNG, Buffer.from(String(index))]));
  }
  return store;
}

describe('packing into WebDataset shards', () => {
  it('packs every arrival with its folder as label', async () => {
    const store = filled(50);
    const result = await packAll(store, settings());
    expect(result).toMatchObject({ status: 'sealed', generation: RUN, shards: 1, samples: 50, rejected: 0 });
    const [shard] = store.keys(bucketKeys.shards(PIPELINE, RUN));
    const members = await readTar(store.body(shard ?? ''));
    expect(members).toHaveLength(100);
    const label = members.find(({ name }) => name === '7/17.cls');
    expect(label?.body.toString()).toBe('7');
    expect((await unpack(store)).size).toBe(50);
  });

  it('rejects other suffixes and files that are no images', async () => {
    const store = filled(5);
    store.seed(`${incoming}3/fake.png`, 'this is text');
    store.seed(`${incoming}3/notes.txt`, 'text');
    const result = await packAll(store, settings({ accept: ['.png'] }));
    expect(result).toMatchObject({ status: 'sealed', samples: 5, rejected: 2 });
    const manifest: unknown = JSON.parse(store.body(bucketKeys.manifest(PIPELINE, RUN)).toString());
    expect(manifest).toMatchObject({
      rejections: { byReason: { notTheImageItsNameSays: 1, suffixNotAccepted: 1 } },
    });
  });

  it('plans only what no sealed generation holds', async () => {
    const store = filled(20);
    await packAll(store, settings());
    store.seed(`${incoming}new.png`, PNG);
    store.seed(`${incoming}3/3.png`, 'changed since');
    const result = await packAll(store, settings(), 'digits-000002');
    expect(result).toMatchObject({ samples: 2 });
    expect([...(await unpack(store, 'digits-000002')).keys()].sort()).toEqual([
      `${incoming}3/3.png`,
      `${incoming}new.png`,
    ]);
    const third = await planShards(
      { store, now },
      { runId: 'digits-000003', pipeline: PIPELINE, packing: settings() },
    );
    expect(third).toMatchObject({ status: 'nothingNew', items: 0, objects: 0 });
  });

  it('defers samples that changed or vanished after the plan', async () => {
    const store = filled(10);
    await planShards({ store, now }, { runId: RUN, pipeline: PIPELINE, packing: settings() });
    store.seed(`${incoming}1/1.png`, 'changed');
    store.objects.delete(`${incoming}2/2.png`);
    const result = await packAll(store, settings());
    expect(result).toMatchObject({ status: 'sealed', samples: 8, rejected: 0 });
    const next = await packAll(store, settings(), 'digits-000002');
    expect(next.samples).toBe(1);
  });

  it('keeps the members of a sample together', async () => {
    const store = new MemoryBlobStore();
    for (let index = 0; index < 60; index += 1) {
      for (const suffix of ['jpg', 'json', 'seg.png'])
        store.seed(`${incoming}${index}.${suffix}`, 'x'.repeat(30_000));
    }
    await packAll(store, settings({ shardMegabytes: 1 }));
    const shards = store.keys(bucketKeys.shards(PIPELINE, RUN));
    expect(shards.length).toBeGreaterThan(4);
    for (const shard of shards) {
      const names = (await readTar(store.body(shard))).map(({ name }) => name);
      for (let at = 0; at < names.length; at += 3) {
        const stem = names[at]?.split('.')[0];
        expect(names.slice(at, at + 3)).toEqual([`${stem}.jpg`, `${stem}.json`, `${stem}.seg.png`]);
      }
    }
  });

  it('indexes members for DALI for any key', async () => {
    // DALI's reader splits lines at blanks.
    const store = new MemoryBlobStore();
    for (const key of HOSTILE_KEYS) store.seed(`${incoming}a folder/${key}`, key);
    await packAll(store, settings());
    const index = store.body(`${bucketKeys.generation(PIPELINE, RUN)}index/shard-000000.idx`).toString();
    const [head = '', ...rows] = index.trimEnd().split('\n');
    expect(head).toBe(`v1.2 ${rows.length}`);
    const found = rows.flatMap((row) => row.match(/[^ ]+ \d+ \d+ [^ ]+( |$)/g) ?? []);
    expect(found.join('').length + rows.length - 1).toBe(rows.join('\n').length);
    const placed = memberLines(store).map(({ offset, size }) => `${offset} ${size}`);
    expect(found.map((one) => one.split(' ').slice(1, 3).join(' ')).sort()).toEqual(placed.sort());
  });

  it('seals once and reports `alreadySealed` afterwards', async () => {
    const store = filled(3);
    await packAll(store, settings());
    const again = await sealDataset({ store }, { runId: RUN, pipeline: PIPELINE, packing: settings() });
    expect(again.status).toBe('alreadySealed');
  });

  it('asks for each shard once', async () => {
    const store = filled(3);
    await planAndPack(store, settings());
    const asked: string[] = [];
    const head = store.head.bind(store);
    store.head = (key) => {
      asked.push(key);
      return head(key);
    };
    await sealDataset({ store }, { runId: RUN, pipeline: PIPELINE, packing: settings() });
    expect(asked).toEqual(store.keys(bucketKeys.shards(PIPELINE, RUN)));
  });

  it('does not seal while a shard is missing', async () => {
    const store = filled(3);
    await planShards({ store, now }, { runId: RUN, pipeline: PIPELINE, packing: settings() });
    await expect(
      sealDataset({ store }, { runId: RUN, pipeline: PIPELINE, packing: settings() }),
    ).rejects.toThrow(/not packed/);
    expect(store.objects.has(bucketKeys.manifest(PIPELINE, RUN))).toBe(false);
  });

  it('has nothing to train on when all is rejected', async () => {
    const store = new MemoryBlobStore();
    store.seed(`${incoming}a.txt`, 'x');
    const result = await packAll(store, settings({ accept: ['.png'] }));
    expect(result).toMatchObject({ status: 'nothingToTrain', shards: 0, rejected: 1 });
    expect(store.objects.has(bucketKeys.manifest(PIPELINE, RUN))).toBe(false);
    const packing = settings({ accept: ['.png'] });
    const again = await planShards({ store, now }, { runId: 'digits-000002', pipeline: PIPELINE, packing });
    expect(again.status).toBe('nothingNew');
  });
});
