/** An index that does not tell the truth is refused as a whole, by its reason, and costs nothing else. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { seedBundle } from '../../../../test/support/builders/bundles.ts';
import {
  incoming,
  manifestOf,
  now,
  PIPELINE,
  packAll,
  RUN,
  settings,
  unpack,
} from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { readBundleIndex } from '../../arrivals/bundle-index.ts';
import { bundledEtag, bundlePlace } from '../../arrivals/bundle-place.ts';
import { planShards } from '../../plan/plan-shards.ts';

const MD5 = '0'.repeat(32);
const BYTES = 100;

const indexOf = (members: readonly unknown[], head: object = {}): Buffer =>
  gzipSync(
    [{ version: 1, bytes: BYTES, members: members.length, ...head }, ...members]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(''),
  );

let store: MemoryBlobStore;
beforeEach(() => {
  store = new MemoryBlobStore();
});

const rejected = () => manifestOf(store).rejections.byReason;

describe('an index', () => {
  const whole = ['a.jpg', 0, 10, MD5];
  it.each([
    ['bundleNotReadable', 'is no gzip', Buffer.from('index')],
    ['bundleNotReadable', 'is cut off', indexOf([whole]).subarray(0, 40)],
    ['bundleNotReadable', 'is of a later version', indexOf([whole], { version: 2 })],
    ['bundleNotReadable', 'has fewer members than it says', indexOf([whole], { members: 2 })],
    [
      'bundleNotReadable',
      'has more members than it says',
      indexOf([whole, ['b.jpg', 10, 1, MD5]], { members: 1 }),
    ],
    ['bundleNotReadable', 'says that it has absurdly many', indexOf([whole], { members: 1e15 })],
    ['bundleNotReadable', 'has a negative offset', indexOf([['a.jpg', -1, 10, MD5]])],
    ['bundleNotReadable', 'has half a byte', indexOf([['a.jpg', 0.5, 10, MD5]])],
    ['bundleNotReadable', 'has a large member', indexOf([['a.jpg', 0, 2 ** 30, MD5]])],
    ['bundleNotReadable', 'has a digest that breaks lists', indexOf([['a.jpg', 0, 10, `${MD5},"`]])],
    ['bundleTooLarge', 'unpacks to too much', gzipSync(Buffer.alloc(129 * 2 ** 20))],
    ['bundleEndsBefore', 'has a member beyond the end', indexOf([['a.jpg', 95, 10, MD5]])],
    ['bundleEndsBefore', 'is of other data', indexOf([whole], { bytes: 99 })],
    ['bundleMembersOverlap', 'has overlaps', indexOf([whole, ['b.jpg', 9, 10, MD5]])],
    ['bundleKeysNotInOrder', 'has a key twice', indexOf([whole, ['a.jpg', 10, 10, MD5]])],
    ['bundleKeysNotInOrder', 'is not in order', indexOf([['b.jpg', 0, 1, MD5], whole])],
    ['bundleKeyNotAllowed', 'leads out', indexOf([['../../other/incoming/a.jpg', 0, 1, MD5]])],
    ['bundleKeyNotAllowed', 'leads to the root', indexOf([['/a.jpg', 0, 1, MD5]])],
    ['bundleKeyNotAllowed', 'has no key', indexOf([['', 0, 1, MD5]])],
    ['bundleKeyNotAllowed', 'holds a bundle', indexOf([[`.tidewheel/bundles/${MD5}.index`, 0, 1, MD5]])],
    ['bundleKeyNotAllowed', 'has a line break', indexOf([['a\n.jpg', 0, 1, MD5]])],
    ['bundleKeyNotAllowed', 'has half a character', indexOf([['a\ud800.jpg', 0, 1, MD5]])],
    ['bundleKeyNotAllowed', 'has a key that S3 refuses', indexOf([['a'.repeat(1_024), 0, 1, MD5]])],
  ] as const)('is refused as %s where it %s', (reason, _, index) => {
    expect(readBundleIndex(index, { dataBytes: BYTES, prefixBytes: incoming.length })).toBe(reason);
  });

  it('is refused or believed, whatever byte is spoilt', () => {
    const { index, data } = seedBundle(store, { 'cat/a.jpg': 'one', 'cat/b.jpg': 'two' });
    const body = gunzipSync(store.body(index));
    const place = { dataBytes: store.body(data).length, prefixBytes: incoming.length };
    fc.assert(
      fc.property(fc.nat(body.length - 1), fc.nat(255), (at, byte) => {
        const spoilt = Buffer.from(body);
        spoilt[at] = byte;
        const read = readBundleIndex(gzipSync(spoilt), place);
        if (typeof read === 'string') return;
        for (const [, offset, size] of read.read())
          expect(offset + size).toBeLessThanOrEqual(place.dataBytes);
      }),
    );
  });
});

describe('a refused bundle', () => {
  it('is rejected by name, and other arrivals are packed', async () => {
    const { index } = seedBundle(store, { 'cat/a.jpg': 'one' });
    store.seed(index, 'no index');
    seedBundle(store, { 'cat/b.jpg': 'two' });
    store.seed(`${incoming}cat/c.jpg`, 'three');
    await packAll(store, settings());
    expect([...(await unpack(store)).keys()].sort()).toEqual([
      `${incoming}cat/b.jpg`,
      `${incoming}cat/c.jpg`,
    ]);
    expect(rejected()).toEqual({ bundleNotReadable: 1 });
  });

  it('is rejected where its data is gone', async () => {
    const { data } = seedBundle(store, { 'cat/a.jpg': 'one' });
    store.objects.delete(data);
    store.seed(`${incoming}cat/c.jpg`, 'three');
    await packAll(store, settings());
    expect(rejected()).toEqual({ bundleWithoutData: 1 });
  });
});

describe('what is no bundle', () => {
  it('is no arrival while its index is missing', async () => {
    const { index } = seedBundle(store, { 'cat/a.jpg': 'one' });
    store.objects.delete(index);
    expect(
      await planShards({ store, now }, { runId: RUN, pipeline: PIPELINE, packing: settings() }),
    ).toMatchObject({
      status: 'nothingNew',
    });
  });

  it('is an arrival in the folder of bundles', async () => {
    const key = `${bucketKeys.bundles(PIPELINE)}photo.jpg`;
    store.seed(key, 'mine');
    await packAll(store, settings());
    expect([...(await unpack(store)).keys()]).toEqual([key]);
  });
});

describe('the ETag of a member', () => {
  it('says where the member lies', () => {
    const place = { md5: MD5, bundle: 'f'.repeat(32), offset: 123_456 };
    expect(bundlePlace(bundledEtag(place))).toEqual(place);
  });

  it.each(['', MD5, `${MD5}-2`, `${MD5}@`, `${MD5}@x:1`])('is not "%s"', (etag) => {
    expect(bundlePlace(etag)).toBeUndefined();
  });
});
