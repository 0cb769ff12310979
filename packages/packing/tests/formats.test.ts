/** Each format to the byte: published vectors, and decoders that share no code with the encoders. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Decoded,
  example,
  type Feature,
  recordio,
  tfrecords,
} from '../../../test/support/builders/decoders.ts';
import { recordioFrame, tfrecordFrame } from '../../../test/support/builders/frames.ts';
import { incoming, PIPELINE, packAll, RUN, settings } from '../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../test/support/fakes/memory-blob-store.ts';
import { crc32c, maskedCrc32c } from '../formats/crc32c.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

const shardsOf = (store: MemoryBlobStore): Buffer[] =>
  store.keys(bucketKeys.shards(PIPELINE, RUN)).map((key) => store.body(key));

function images(count = 30): MemoryBlobStore {
  const store = new MemoryBlobStore();
  for (let index = 0; index < count; index += 1)
    store.seed(`${incoming}${index % 4}/${index}.jpg`, Buffer.alloc(index * 40, index));
  return store;
}

describe('CRC-32C', () => {
  it('has the published check values, plain and masked', () => {
    expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
    expect(hex(tfrecordFrame(Buffer.from('hello')))).toBe('0500000000000000eab2043e68656c6c6fbb1f1c19');
    expect(maskedCrc32c(0)).toBe(0xa282ead8);
  });

  /** Few bytes are summed in JavaScript. */
  const inPieces = (bytes: Buffer): number => {
    let crc = 0;
    for (let at = 0; at < bytes.length; at += 63) crc = crc32c(bytes.subarray(at, at + 63), crc);
    return crc;
  };

  it('is equal natively, in JavaScript and in pieces', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.uint8Array({ maxLength: 300 }), (a, b) => {
        const whole = Buffer.concat([a, b]);
        expect(crc32c(b, crc32c(a))).toBe(inPieces(whole));
        expect(crc32c(whole)).toBe(inPieces(whole));
      }),
    );
  });
});

describe('tfrecord', () => {
  it.each(['text', 'integer'] as const)('is read back by protobufjs with %s labels', async (labelType) => {
    const store = images();
    const result = await packAll(store, settings({ format: 'tfrecord', labelType, shardMegabytes: 0.005 }));
    expect(result).toMatchObject({ status: 'sealed', samples: 30 });
    const seen = new Map<string, string>();
    const textOf = (one: Feature | undefined): string =>
      Buffer.from(one?.bytesList?.value[0] ?? []).toString();
    const numberOf = (one: Feature | undefined): string | undefined => one?.int64List?.value[0]?.toString();
    for (const record of shardsOf(store).flatMap(tfrecords)) {
      const { feature } = (example.decode(record) as unknown as Decoded).features;
      expect(Object.keys(feature)).toEqual(['__key__', 'image', 'label']);
      const key = textOf(feature['__key__']);
      const label = labelType === 'integer' ? numberOf(feature['label']) : textOf(feature['label']);
      expect(label).toBe(key.split('/')[0]);
      seen.set(`${incoming}${key}.jpg`, hex(feature['image']?.bytesList?.value[0] ?? new Uint8Array()));
    }
    expect(seen).toEqual(new Map(store.keys(incoming).map((key) => [key, hex(store.body(key))])));
  });

  it('rejects a sample whose label is no integer', async () => {
    const store = images(5);
    store.seed(`${incoming}cat/x.jpg`, 'x');
    const result = await packAll(store, settings({ format: 'tfrecord', labelType: 'integer' }));
    expect(result).toMatchObject({ samples: 5, rejected: 1 });
  });
});

describe('recordio', () => {
  it('writes the published vectors', async () => {
    const split = Buffer.concat([Buffer.from('abcd'), Buffer.from('0a23d7ce', 'hex'), Buffer.from('xy')]);
    expect(hex(recordioFrame(split))).toBe('0a23d7ce04000020616263640a23d7ce0200006078790000');
    const store = new MemoryBlobStore();
    store.seed(`${incoming}4/a.jpg`, 'JPEG');
    await packAll(store, settings({ format: 'recordio' }));
    expect(shardsOf(store).map(hex)).toEqual([`0a23d7ce1c0000000000000000008040${'00'.repeat(16)}4a504547`]);
  });

  it('round-trips any data, magic numbers included', async () => {
    const word = fc.constantFrom('0a23d7ce', '00000000', 'cafe', '0a', '0a23d7ce0a23d7ce');
    await fc.assert(
      fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 8 }), async (words) => {
        const image = Buffer.from(words.join(''), 'hex');
        const store = new MemoryBlobStore();
        store.seed(`${incoming}4/a.jpg`, image);
        await packAll(store, settings({ format: 'recordio' }));
        expect(
          shardsOf(store)
            .flatMap(recordio)
            .map((record) => hex(record.subarray(24))),
        ).toEqual([hex(image)]);
      }),
    );
  });

  it('holds label and image of every arrival', async () => {
    const store = images();
    const result = await packAll(store, settings({ format: 'recordio' }));
    expect(result.samples).toBe(30);
    const seen = shardsOf(store)
      .flatMap(recordio)
      .map((record) => [record.readFloatLE(4), record.readUInt32LE(0), hex(record.subarray(24))].join());
    const expected = store
      .keys(incoming)
      .map((key) => [Number(key.slice(incoming.length).split('/')[0]), 0, hex(store.body(key))].join());
    expect(seen.sort()).toEqual(expected.sort());
  });
});

describe('mds', () => {
  it('has exact sample offsets and an index', async () => {
    const store = images();
    await packAll(store, settings({ format: 'mds', shardMegabytes: 0.005, labelType: 'integer' }));
    const index = JSON.parse(store.body(`${bucketKeys.generation(PIPELINE, RUN)}index.json`).toString());
    expect(index.version).toBe(2);
    const seen = new Map<string, string>();
    for (const shard of index.shards) {
      const file = store.body(`${bucketKeys.generation(PIPELINE, RUN)}${shard.raw_data.basename}`);
      expect(file.length).toBe(shard.raw_data.bytes);
      expect(shard.column_names).toEqual(['__key__', 'image', 'label']);
      expect(file.readUInt32LE(0)).toBe(shard.samples);
      for (let sample = 0; sample < shard.samples; sample += 1) {
        const at = file.readUInt32LE(4 + 4 * sample);
        const end = file.readUInt32LE(8 + 4 * sample);
        const [key, image] = [file.readUInt32LE(at), file.readUInt32LE(at + 4)];
        expect(at + 8 + key + image + 8).toBe(end);
        const name = file.subarray(at + 8, at + 8 + key).toString();
        expect(file.readBigInt64LE(end - 8)).toBe(BigInt(name.split('/')[0] ?? -1));
        seen.set(`${incoming}${name}.jpg`, hex(file.subarray(at + 8 + key, end - 8)));
      }
    }
    expect(seen).toEqual(new Map(store.keys(incoming).map((key) => [key, hex(store.body(key))])));
  });

  it('has an index among the shards for a channel', async () => {
    const store = images();
    await packAll(store, settings({ format: 'mds', shardMegabytes: 0.005 }));
    const { indexes, shards } = JSON.parse(store.body(bucketKeys.manifest(PIPELINE, RUN)).toString());
    expect(indexes).toEqual(['index.json']);
    const index = JSON.parse(store.body(`${bucketKeys.shards(PIPELINE, RUN)}index.json`).toString());
    const listed = index.shards.map(({ raw_data }: { raw_data: { basename: string } }) => raw_data.basename);
    expect(listed).toEqual(shards.map(({ name }: { name: string }) => name));
  });

  it('rejects samples whose columns differ from the majority', async () => {
    const store = images(10);
    store.seed(`${incoming}1/odd.json`, '{}');
    const result = await packAll(store, settings({ format: 'mds' }));
    expect(result).toMatchObject({ samples: 10, rejected: 1 });
  });
});

describe('lines', () => {
  it.each([
    ['perShard', 'x,y\n1,2\n3,4\n'],
    ['drop', '1,2\n3,4\n'],
  ] as const)('keeps one CSV header: %s', async (header, expected) => {
    const store = new MemoryBlobStore();
    store.seed(`${incoming}a.csv`, 'x,y\n1,2');
    store.seed(`${incoming}b.csv`, '\ufeffx,y\r\n3,4\n');
    store.seed(`${incoming}c.csv`, 'x,z\n5,6\n');
    store.seed(`${incoming}d.csv`, 'x,y');
    const result = await packAll(
      store,
      settings({ format: 'lines', shuffle: false, lines: { kind: 'csv', header } }),
    );
    expect(result).toMatchObject({ samples: 3, rejected: 1 });
    expect(Buffer.concat(shardsOf(store)).toString()).toBe(expected);
  });
});

describe('records', () => {
  const framed = (text: string): Buffer => tfrecordFrame(Buffer.from(text));

  it('joins record files and rejects broken ones', async () => {
    const store = new MemoryBlobStore();
    store.seed(`${incoming}a.tfrecord`, Buffer.concat([framed('one'), framed('two')]));
    store.seed(`${incoming}b.tfrecord`, framed('x'.repeat(5_000)));
    store.seed(`${incoming}c.tfrecord`, framed('cut off').subarray(0, 15));
    store.seed(`${incoming}d.tfrecord`, 'not a record at all');
    const result = await packAll(store, settings({ format: 'records', shuffle: false }));
    expect(result).toMatchObject({ samples: 2, rejected: 2 });
    expect(
      shardsOf(store)
        .flatMap(tfrecords)
        .map((record) => record.length),
    ).toEqual([3, 3, 5_000]);
  });
});
