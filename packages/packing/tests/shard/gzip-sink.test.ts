import { gunzipSync } from 'node:zlib';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { seededUint32 } from '@tidewheel/kit/seeded-random.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  incoming,
  memberLines,
  PIPELINE,
  packAll,
  RUN,
  settings,
} from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { GzipSink } from '../../shard/gzip-sink.ts';

async function gzipped(chunks: readonly Uint8Array[]): Promise<Buffer> {
  const out: Uint8Array[] = [];
  const sink = new GzipSink({
    position: 0,
    room: 0,
    recent: () => undefined,
    write: (bytes) => Promise.resolve(void out.push(Uint8Array.from(bytes))),
  });
  for (const chunk of chunks) await sink.write(chunk);
  await sink.finish();
  return Buffer.concat(out);
}

describe('a gzipped shard', () => {
  it('round-trips, and ignores the sizes of writes', async () => {
    const next = seededUint32('gzip');
    const text = Buffer.alloc(2_500_000);
    for (let at = 0; at < text.length; at += 1) text[at] = at % 7 === 0 ? next() % 256 : at % 11;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: text.length }),
        fc.array(fc.integer({ min: 0, max: text.length }), { maxLength: 6 }),
        async (length, cuts) => {
          const points = [0, ...cuts.filter((cut) => cut <= length).sort((a, b) => a - b), length];
          const pieces = points.slice(1).map((end, index) => text.subarray(points[index], end));
          const whole = await gzipped([text.subarray(0, length)]);
          expect((await gzipped(pieces)).equals(whole)).toBe(true);
          expect(gunzipSync(whole).equals(text.subarray(0, length))).toBe(true);
        },
      ),
      { numRuns: 5 },
    );
  }, 30_000);

  it('has members at their listed uncompressed offsets', async () => {
    const store = new MemoryBlobStore();
    for (let index = 0; index < 40; index += 1)
      store.seed(`${incoming}${index % 3}/${index}.jpg`, Buffer.alloc(index * 301, `${index}.`));
    await packAll(store, settings({ format: 'tfrecord', tfrecord: { compression: 'gzip' } }));
    const [shard, ...others] = store.keys(bucketKeys.shards(PIPELINE, RUN));
    expect([shard?.endsWith('.tfrecord.gz'), others]).toEqual([true, []]);
    const plain = gunzipSync(store.body(shard ?? ''));
    const lines = memberLines(store).filter(({ key }) => key !== undefined);
    expect(lines).toHaveLength(40);
    for (const { key, offset, size } of lines)
      expect(plain.subarray(offset, offset + size).equals(store.body(key ?? ''))).toBe(true);
  });
});
