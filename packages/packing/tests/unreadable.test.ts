/** Objects that the store does not give: some cost only themselves, many mean that the role is at fault. */

import { UnreadableArrivalsError } from '@tidewheel/kit/errors.ts';
import { describe, expect, it } from 'vitest';
import { accounts, contents, runOf } from '../../../test/support/builders/compaction.ts';
import { incoming, packAll, settings } from '../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../test/support/fakes/memory-blob-store.ts';
import { misbehaving } from '../../../test/support/fakes/misbehaving-store.ts';
import { type BlobStore, UnreadableBlobError } from '../documents/blob-store.ts';

function filled(count: number, body = 'x'): MemoryBlobStore {
  const store = new MemoryBlobStore();
  for (let index = 0; index < count; index += 1)
    store.seed(`${incoming}a/${String(index).padStart(4, '0')}.txt`, `${body}${index}`);
  return store;
}

/** Of the objects whose key ends so. */
const refusing = (store: BlobStore, ends: RegExp, code = 'AccessDenied'): BlobStore =>
  misbehaving(store, {
    get: (key, options) =>
      ends.test(key) && key.startsWith(incoming)
        ? Promise.reject(new UnreadableBlobError(code, new Error(code)))
        : store.get(key, options),
  });

describe('an unreadable object', () => {
  it('costs only its sample, which a later run packs', async () => {
    const store = filled(30);
    store.seed(`${incoming}a/0007.json`, '{}');
    const first = await packAll(refusing(store, /0007\.txt$/, 'KMS.DisabledException'), settings());
    expect(first).toMatchObject({ status: 'sealed', samples: 29, rejected: 0 });
    expect(first.left).toMatchObject({
      objects: 2,
      byReason: { unreadable: 1, sampleDeferred: 1 },
      byCode: { 'KMS.DisabledException': 1 },
    });
    expect(first.left.examples).toContainEqual({
      key: `${incoming}a/0007.txt`,
      reason: 'unreadable',
      code: 'KMS.DisabledException',
    });
    expect(await packAll(store, settings(), runOf(2))).toMatchObject({ samples: 1, left: { objects: 0 } });
    expect(await contents(store)).toHaveLength(31);
  });

  it('is read before the header line of others', async () => {
    const store = new MemoryBlobStore();
    for (const name of ['a', 'b', 'c']) store.seed(`${incoming}${name}.csv`, `x,y\n1,${name}\n`);
    const packing = settings({ format: 'lines', label: 'none', lines: { kind: 'csv', header: 'perShard' } });
    const sealed = await packAll(refusing(store, /a\.csv$/), packing);
    expect(sealed).toMatchObject({ samples: 2, left: { byCode: { AccessDenied: 1 } } });
  });

  it('is left where the store would copy it', async () => {
    const store = filled(3, 'line\n'.repeat(900));
    // Of a source without such a checksum, all bytes are read.
    store.keptSum = 'crc32';
    const packing = settings({ format: 'lines', label: 'none', lines: { kind: 'text', header: 'none' } });
    const denied = misbehaving(store, {
      copyPart: (upload, part, source) =>
        source.key.endsWith('0001.txt')
          ? Promise.reject(new UnreadableBlobError('AccessDenied', new Error('denied')))
          : store.copyPart(upload, part, source),
    });
    expect(await packAll(denied, packing)).toMatchObject({ samples: 2, left: { objects: 1 } });
    expect(store.copiedBytes).toBeGreaterThan(0);
  });
});

describe('a role that may not read', () => {
  it.each([
    ['eleven of a thousand objects', 1_000, /00(0\d|10)\.txt$/],
    ['all of three objects', 3, /txt$/],
  ] as const)('is named where it misses %s', async (_, count, ends) => {
    const store = filled(count);
    const packing = settings({ mayReject: '0.5 %' });
    const packed = packAll(refusing(store, ends), packing);
    await expect(packed).rejects.toThrow(UnreadableArrivalsError);
    await expect(packAll(refusing(store, ends), packing, runOf(2))).rejects.toThrow(/\d+ AccessDenied.*role/);
    expect(await accounts(store)).toEqual([]);
    expect(await packAll(store, packing, runOf(3))).toMatchObject({ samples: count });
  });
});

describe('a server that alters what it passes on', () => {
  it('is named in place of the role', async () => {
    const store = filled(20);
    const altered = misbehaving(store, {
      get: (key, options) =>
        key.endsWith('.txt')
          ? Promise.reject(new UnreadableBlobError('OtherLength', new Error('shorter')))
          : store.get(key, options),
    });
    await expect(packAll(altered, settings())).rejects.toThrow(/20 OtherLength.*such as a proxy/);
  });
});

describe('an object in an archive', () => {
  it('waits unread until it is restored', async () => {
    const store = filled(5);
    const key = `${incoming}a/0003.txt`;
    const held = store.objects.get(key);
    if (held === undefined) throw new Error('no object');
    store.objects.set(key, { ...held, archived: true });
    const first = await packAll(refusing(store, /0003\.txt$/), settings());
    expect(first).toMatchObject({
      samples: 4,
      left: { byReason: { archived: 1 }, since: held.lastModified },
    });
    store.objects.set(key, held);
    expect(await packAll(store, settings(), runOf(2))).toMatchObject({ samples: 1 });
    expect(await contents(store)).toHaveLength(5);
  });
});
