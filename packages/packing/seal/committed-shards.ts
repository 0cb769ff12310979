/** Reads the records of a plan's committed shards, and checks that the shards exist before they are sealed. */
import { mapLimited } from '@tidewheel/kit/limited.ts';
import { type BlobStore, type HeadResult, sumsDiffer } from '../documents/blob-store.ts';
import type { ShardRecord } from '../documents/documents.ts';
import type { Manifest } from '../documents/manifest.ts';
import type { Exclusion } from '../documents/rejections.ts';
import { finishedShard } from '../shard/commit-shard.ts';

/** A planned shard is not finished. PackShards must run again before the seal. */
export class ShardMissingError extends Error {
  override readonly name = 'ShardMissingError';
  /** In words: `shard 3 of digits-000001`. */
  readonly shard: string;
  constructor(runId: string, shard: number) {
    const named = `shard ${shard} of ${runId}`;
    super(`${named} is planned but not packed: run PackShards for this run again, then seal`);
    this.shard = named;
  }
}

/** The plan of a run or of a compaction, as far as the records need it. */
export interface RecordedPlan {
  readonly runId: string;
  readonly shards: number;
  recordKey(shard: number): string;
  /** Called for each sample that is in no shard. */
  exclude?(exclusion: Exclusion): void;
}

/** A record without its exclusions, which may be 100,000 and would take much memory. */
export interface CommittedShard extends Omit<ShardRecord, 'exclusions'> {
  /** Of the shard's object; undefined if the upload was completed just now, or there are no samples. */
  readonly head: HeadResult | undefined;
}

/**
 * Reads a few records at a time, and completes the upload of a shard if its worker did not.
 * @throws ShardMissingError
 */
export async function readCommittedShards(store: BlobStore, plan: RecordedPlan): Promise<CommittedShard[]> {
  const records: CommittedShard[] = [];
  let atOnce = PARALLEL_LARGE_RECORDS;
  const read = async (shard: number): Promise<CommittedShard> => {
    const finished = await finishedShard(store, plan.recordKey(shard));
    if (finished === undefined) throw new ShardMissingError(plan.runId, shard);
    const { exclusions, ...committed } = finished.record;
    for (const one of exclusions) plan.exclude?.(one);
    if (exclusions.length > LARGE_RECORD) atOnce = PARALLEL_LARGE_RECORDS;
    return { ...committed, head: finished.head };
  };
  while (records.length < plan.shards) {
    const first = records.length;
    const count = Math.min(atOnce, plan.shards - first);
    atOnce = PARALLEL_RECORDS;
    records.push(...(await Promise.all(Array.from({ length: count }, (_, index) => read(first + index)))));
  }
  return records;
}
const PARALLEL_RECORDS = 32;
/** A record with this many exclusions takes a megabyte, and other records of the plan probably do too. */
const LARGE_RECORD = 5_000;
const PARALLEL_LARGE_RECORDS = 3;

export const sealedShards = (
  store: BlobStore,
  committed: readonly CommittedShard[],
): Promise<Manifest['shards']> =>
  mapLimited(committed, PARALLEL_RECORDS, (record) => sealedShard(store, record));

async function sealedShard(store: BlobStore, record: CommittedShard): Promise<Manifest['shards'][number]> {
  const head = record.head ?? (await store.head(record.key));
  if (head === undefined || head.size !== record.bytes || sumsDiffer(head.sums, record))
    throw new ShardMissingError(record.key, record.shard);
  const { name, bytes, crc32, crc32c, crc64nvme, samples, members, memberList } = record;
  return {
    name,
    bytes,
    crc32,
    crc32c,
    crc64nvme,
    etag: head.etag,
    samples,
    members,
    memberList: memberList.key,
    memberListSha256: memberList.sha256,
  };
}
