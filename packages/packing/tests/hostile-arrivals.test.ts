/** A bad arrival costs only itself: neither its neighbours, nor the reader's position, nor the time of the others. */
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { describe, expect, it } from 'vitest';
import { recordio } from '../../../test/support/builders/decoders.ts';
import { recordioFrame } from '../../../test/support/builders/frames.ts';
import {
  dropped,
  incoming,
  memberLines,
  now,
  PIPELINE,
  packAll,
  RUN,
  settings,
} from '../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../test/support/fakes/memory-blob-store.ts';
import { compact } from '../compaction/compact.ts';
import { planShards } from '../plan/plan-shards.ts';

const shards = (store: MemoryBlobStore): Buffer =>
  Buffer.concat(store.keys(bucketKeys.shards(PIPELINE, RUN)).map((key) => store.body(key)));

/** Keys of the uploads that begin from now on. */
function uploadsOf(store: MemoryBlobStore): readonly string[] {
  const uploads: string[] = [];
  const createUpload = store.createUpload.bind(store);
  store.createUpload = (key, sum) => {
    uploads.push(key);
    return createUpload(key, sum);
  };
  return uploads;
}

const csv = settings({ format: 'lines', lines: { kind: 'csv', header: 'perShard' }, shuffle: false });

describe('files of lines', () => {
  const noise = Buffer.from(Array.from({ length: 3_000 }, (_, index) => (index * index) % 251));

  it.each([
    ['gzip', gzipSync(noise)],
    ['zstd', zstdCompressSync(noise)],
    ['xz', Buffer.concat([Buffer.from('fd377a585a00', 'hex'), noise])],
    ['bzip2', Buffer.concat([Buffer.from('BZh91AY&SY'), noise])],
    ['zip', Buffer.concat([Buffer.from('504b0304', 'hex'), noise])],
    ['UTF-16', Buffer.from('\ufeff{"a":1}\n', 'utf16le')],
    ['a small gzip', gzipSync('x')],
  ])('that are %s are rejected, and no others', async (_kind, body) => {
    const store = dropped({
      'a.jsonl': body,
      'b.jsonl': '{"a":1}',
      'c.jsonl.gz': '{"b":2}\n',
      'd.jsonl': 'x',
    });
    const packing = settings({ format: 'lines', lines: { kind: 'jsonl', header: 'none' }, shuffle: false });
    const { rejections } = await packAll(store, packing);
    expect(rejections).toEqual({
      byReason: { notText: 1 },
      examples: [expect.objectContaining({ key: `${incoming}a.jsonl`, reason: 'notText' })],
    });
    expect(shards(store).toString()).toBe('{"a":1}\n{"b":2}\nx\n');
  });

  it('that are compressed give no header', async () => {
    const store = dropped({ '0.csv': gzipSync('z\n1\n'), '1.csv': 'a,b\n1,2\n' });
    const { rejections } = await packAll(store, csv);
    expect(rejections.byReason).toEqual({ notText: 1 });
    expect(shards(store).toString()).toBe('a,b\n1,2\n');
  });
});

it('folders of the console and Hadoop are no samples', async () => {
  const store = dropped({ 'a/': '', a_$folder$: '', 'a/1.jpg': 'x', b_$folder$: 'x', 'c.jpg': '' });
  const { samples, rejections } = await packAll(store, settings({ label: 'none' }));
  expect([samples, rejections.byReason]).toEqual([3, { folderPlaceholder: 2 }]);
});

describe('CSV sources under one header', () => {
  it('are joined if the first is empty', async () => {
    const store = dropped({ '0.csv': '', '1.csv': 'a,b\n1,2\n', '2.csv': 'a,b\n3,4' });
    const { rejections } = await packAll(store, csv);
    expect(rejections.byReason).toEqual({ headerDiffers: 1 });
    expect(shards(store).toString()).toBe('a,b\n1,2\n3,4\n');
  });

  it.each(['changed', 'deleted'])('are listed again if the first is %s', async (fate) => {
    const store = dropped({ '1.csv': 'a,b\n1,2\n', '2.csv': 'a,b\n3,4\n' });
    const listPage = store.listPage.bind(store);
    store.listPage = async (prefix, options) => {
      const page = await listPage(prefix, options);
      if (prefix !== incoming) return page;
      if (fate === 'deleted') store.objects.delete(`${incoming}1.csv`);
      else store.seed(`${incoming}1.csv`, 'c\n1\n');
      return page;
    };
    const input = { runId: RUN, pipeline: PIPELINE, packing: csv };
    await expect(planShards({ store, now }, input)).rejects.toThrow(/1\.csv changed while .*the next try/);
    store.listPage = listPage;
    store.seed(`${incoming}1.csv`, 'a,b\n5,6\n');
    expect((await packAll(store, csv)).rejected).toBe(0);
    expect(shards(store).toString()).toBe('a,b\n5,6\n3,4\n');
  });
});

describe('generations of empty files', () => {
  it.each([true, false])('are joined like any others (shuffle: %s)', async (shuffle) => {
    const packing = settings({ format: 'lines', shuffle });
    const store = new MemoryBlobStore();
    for (const batch of [1, 2, 3]) {
      for (const name of ['a', 'b']) store.seed(`${incoming}${batch}/${name}.txt`, '');
      await packAll(store, packing, `${PIPELINE}-00000${batch}`);
    }
    const joined = await compact(store, { pipeline: PIPELINE, packing, after: 2, everything: true });
    expect(joined).toMatchObject({ status: 'compacted', samples: 6 });
  });
});

describe('RecordIO sources', () => {
  const magic = Buffer.from([0x0a, 0x23, 0xd7, 0xce]);
  const split = recordioFrame(Buffer.concat([Buffer.from('four'), magic, Buffer.from('more')]));
  const first = split.subarray(0, 12);

  it('are rejected if they begin or end mid-record', async () => {
    const whole = recordioFrame(Buffer.from('whole'));
    const store = dropped({
      'a.rec': Buffer.concat([whole, first]),
      'b.rec': split.subarray(12),
      'c.rec': Buffer.concat([split, whole]),
      'd.rec': Buffer.concat([first, whole]),
    });
    const { rejections } = await packAll(
      store,
      settings({ format: 'records', records: { kind: 'recordio' }, shuffle: false }),
    );
    expect(rejections.byReason).toEqual({ brokenRecord: 3 });
    expect(recordio(shards(store)).map((record) => Buffer.from(record).toString('latin1'))).toEqual([
      'four\n#\u00d7\u00cemore',
      'whole',
    ]);
  });
});

describe('columns of MDS with a type', () => {
  it('hold only JSON and UTF-8 that readers decode', async () => {
    const json = ['{"a": [NaN, -Infinity]}', '"é"', '', '{', '\uFEFF{}', Buffer.from([0x22, 0xff, 0x22])];
    const txt = ['ok', '', 'ok', 'ok', Buffer.from([0xc3, 0x28]), 'ok'];
    const store = new MemoryBlobStore();
    for (const [index, body] of json.entries()) {
      store.seed(`${incoming}${index}.json`, body);
      store.seed(`${incoming}${index}.txt`, txt[index] ?? '');
    }
    const uploads = uploadsOf(store);
    const sealed = await packAll(store, settings({ format: 'mds' }));
    expect(sealed).toMatchObject({ samples: 2, rejections: { byReason: { notJson: 6, notText: 2 } } });
    expect(uploads).toHaveLength(2);
  });
});

describe('labels that do not fit', () => {
  it('cost an MDS shard a single rebuild', async () => {
    const store = dropped(
      Object.fromEntries(
        Array.from({ length: 60 }, (_, index) => [
          `${index % 3 === 0 ? 'cat' : index % 3}/${index}.jpg`,
          'x',
        ]),
      ),
    );
    const uploads = uploadsOf(store);
    const sealed = await packAll(store, settings({ format: 'mds', labelType: 'integer' }));
    expect(sealed).toMatchObject({ samples: 40, rejections: { byReason: { labelNotAnInteger: 20 } } });
    expect(uploads).toHaveLength(2);
  });

  it.each(['recordio', 'mds', 'parquet', 'webdataset'] as const)(
    'do not include images called label in %s',
    async (format) => {
      const store = dropped({ '3/a.label.png': 'a mask', ...(format !== 'recordio' && { '3/a.jpg': 'x' }) });
      const changes = { format, labelType: 'integer' } as const;
      expect(await packAll(store, settings(changes))).toMatchObject({ samples: 1 });
      expect(memberLines(store).map(({ column, label }) => [column, label])).toContainEqual(['label', '3']);
    },
  );

  it('are rejected by RecordIO beyond 32-bit floats', async () => {
    const store = dropped({ '1e300/a.jpg': 'x', '1e30/b.jpg': 'x', 'NaN/c.jpg': 'x' });
    expect((await packAll(store, settings({ format: 'recordio' }))).rejections.byReason).toEqual({
      labelNotANumber: 2,
    });
  });
});
