/**
 * Commits one shard. The worker first writes a record with If-None-Match, which decides the shard's bytes. Any worker
 * can then complete the upload that the record names. So a worker may die at any line, and two workers may have read
 * different things: all of them see one shard.
 */

import { kindOf } from '@tidewheel/kit/stored.ts';
import { type BlobStore, type HeadResult, joinChunks, SUM_KINDS } from '../documents/blob-store.ts';
import { readDocument, type ShardRecord, shardRecordSchema } from '../documents/documents.ts';

interface StoredRecord {
  readonly record: ShardRecord;
  readonly etag: string;
}

async function readStored(store: BlobStore, key: string): Promise<StoredRecord | undefined> {
  const found = await store.get(key);
  if (found.kind !== 'found') return undefined;
  const text = new TextDecoder().decode(joinChunks(found.chunks));
  return { record: readDocument(kindOf(shardRecordSchema), key, text), etag: found.etag };
}

const encode = (record: ShardRecord): Buffer => Buffer.from(JSON.stringify(record));

const sameBytes = (a: ShardRecord, b: ShardRecord): boolean =>
  a.bytes === b.bytes &&
  SUM_KINDS.every((kind) => a[kind] === b[kind]) &&
  a.memberList.sha256 === b.memberList.sha256;

/** A shard that is committed and visible. */
export interface FinishedShard {
  readonly record: ShardRecord;
  /** Of the shard's object; undefined if the upload was completed just now, or there are no samples. */
  readonly head: HeadResult | undefined;
}

async function visibleHead(store: BlobStore, record: ShardRecord): Promise<HeadResult | undefined> {
  const head = await store.head(record.key);
  return head?.size === record.bytes ? head : undefined;
}

/**
 * Completes the upload of a committed shard. `lost`: its upload was aborted before it was completed.
 * @param isNew the record was written just now, so its shard is hardly visible yet
 */
async function makeVisible(
  store: BlobStore,
  record: ShardRecord,
  isNew = false,
): Promise<FinishedShard | 'lost'> {
  if (record.samples === 0) return { record, head: undefined };
  const before = isNew ? undefined : await visibleHead(store, record);
  if (before !== undefined) return { record, head: before };
  if (record.upload !== undefined) {
    const done = await store.completeUpload({ key: record.key, id: record.upload.id }, record.upload.parts);
    if (done !== 'gone') return { record, head: undefined };
  }
  const head = await visibleHead(store, record);
  return head === undefined ? 'lost' : { record, head };
}

/** Undefined if the shard must be built. */
export async function finishedShard(store: BlobStore, recordKey: string): Promise<FinishedShard | undefined> {
  const stored = await readStored(store, recordKey);
  if (stored === undefined) return undefined;
  const finished = await makeVisible(store, stored.record);
  return finished === 'lost' ? undefined : finished;
}

/** Commits `mine` unless another record was committed before. Returns the committed record, whose shard is visible. */
export async function commitShard(
  store: BlobStore,
  recordKey: string,
  mine: ShardRecord,
): Promise<ShardRecord> {
  const put = await store.put(recordKey, encode(mine), { only: 'absent', contentType: 'application/json' });
  const stored =
    put.kind === 'written' ? { record: mine, etag: put.etag } : await readStored(store, recordKey);
  if (stored === undefined)
    throw new Error(`the record ${recordKey} was removed while its shard was committed; run the step again`);
  if ((await makeVisible(store, stored.record, put.kind === 'written')) !== 'lost') {
    await abortLosingUpload(store, mine, stored.record);
    return stored.record;
  }
  if (sameBytes(mine, stored.record)) {
    await makeVisible(store, mine);
    return stored.record;
  }
  const replaced = await store.put(recordKey, encode(mine), {
    only: { etag: stored.etag },
    contentType: 'application/json',
  });
  if (replaced.kind === 'refused') return commitShard(store, recordKey, mine);
  await makeVisible(store, mine);
  return mine;
}

async function abortLosingUpload(store: BlobStore, mine: ShardRecord, committed: ShardRecord): Promise<void> {
  const { upload } = mine;
  if (upload !== undefined && (upload.id !== committed.upload?.id || mine.samples === 0))
    await store.abortUpload({ key: mine.key, id: upload.id });
}
