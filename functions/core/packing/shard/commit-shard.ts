/**
 * The commit of one shard. A record is written first, with If-None-Match: from then on the shard's bytes are decided,
 * and anybody can finish the upload that the record names. So a worker may die at any line, two workers may have read
 * different things, and still all see one shard.
 */
import { type BlobStore, joinChunks } from '../model/blob-store.ts';
import { type ShardRecord, shardRecordSchema } from '../model/documents.ts';

interface StoredRecord {
  readonly record: ShardRecord;
  readonly etag: string;
}

async function readStored(store: BlobStore, key: string): Promise<StoredRecord | undefined> {
  const found = await store.get(key);
  if (found.kind !== 'found') return undefined;
  const text = new TextDecoder().decode(joinChunks(found.chunks));
  return { record: shardRecordSchema.parse(JSON.parse(text)), etag: found.etag };
}

const encode = (record: ShardRecord): Buffer => Buffer.from(JSON.stringify(record));

const sameBytes = (a: ShardRecord, b: ShardRecord): boolean =>
  a.bytes === b.bytes && a.crc32 === b.crc32 && a.memberList.sha256 === b.memberList.sha256;

async function isThere(store: BlobStore, record: ShardRecord): Promise<boolean> {
  const head = await store.head(record.key);
  return head !== undefined && head.size === record.bytes;
}

/** Makes a decided shard visible. `lost` when its upload was dropped before anybody finished it. */
async function bringIn(store: BlobStore, record: ShardRecord): Promise<'there' | 'lost'> {
  if (record.samples === 0 || (await isThere(store, record))) return 'there';
  if (record.upload !== undefined) {
    const done = await store.completeUpload({ key: record.key, id: record.upload.id }, record.upload.parts);
    if (done !== 'gone') return 'there';
  }
  return (await isThere(store, record)) ? 'there' : 'lost';
}

/** The record of a shard that is decided and there, or undefined when it has to be built (again). */
export async function finishedShard(store: BlobStore, recordKey: string): Promise<ShardRecord | undefined> {
  const stored = await readStored(store, recordKey);
  if (stored === undefined) return undefined;
  return (await bringIn(store, stored.record)) === 'there' ? stored.record : undefined;
}

/** Decides on `mine` unless another decision stands; either way the decided shard is there afterwards. */
export async function decideShard(
  store: BlobStore,
  recordKey: string,
  mine: ShardRecord,
): Promise<ShardRecord> {
  const put = await store.put(recordKey, encode(mine), { only: 'absent', contentType: 'application/json' });
  const stored =
    put.kind === 'written' ? { record: mine, etag: put.etag } : await readStored(store, recordKey);
  if (stored === undefined)
    throw new Error(`the record ${recordKey} was removed while it was decided; run the step again`);
  if ((await bringIn(store, stored.record)) === 'there') return settle(store, mine, stored.record);
  if (sameBytes(mine, stored.record)) {
    await bringIn(store, mine);
    return stored.record;
  }
  const replaced = await store.put(recordKey, encode(mine), {
    only: { etag: stored.etag },
    contentType: 'application/json',
  });
  if (replaced.kind === 'refused') return decideShard(store, recordKey, mine);
  await bringIn(store, mine);
  return mine;
}

/** Drops an upload that lost. */
async function settle(store: BlobStore, mine: ShardRecord, decided: ShardRecord): Promise<ShardRecord> {
  const { upload } = mine;
  if (upload !== undefined && (upload.id !== decided.upload?.id || mine.samples === 0)) {
    await store.abortUpload({ key: mine.key, id: upload.id });
  }
  return decided;
}
