/** The shards that a plan's records have decided, read and looked at before they are sealed. */

import type { BlobStore } from '../model/blob-store.ts';
import type { Manifest, ShardRecord } from '../model/documents.ts';
import type { Exclusion } from '../model/rejections.ts';
import { finishedShard } from '../shard/commit-shard.ts';

/** A planned shard is not finished: packing has to run (again) before the seal. */
export class ShardMissingError extends Error {
  override readonly name = 'ShardMissingError';
  constructor(runId: string, shard: number) {
    super(
      `shard ${shard} of ${runId} is planned but not packed; run PackShards for this run again, then seal`,
    );
  }
}

/** What is needed of a plan, of a run's or of a compaction's, to find its records. */
export interface RecordedPlan {
  readonly runId: string;
  readonly shards: number;
  recordKey(shard: number): string;
  /** Told of every sample that is in no shard. */
  exclude?(exclusion: Exclusion): void;
}

/** What is in no shard was told already: a record of 100,000 refused files is not held for it. */
export type SettledRecord = Omit<ShardRecord, 'exclusions'>;

/** Records are asked for a few at a time; a shard whose upload nobody finished is finished here. */
export async function readRecords(store: BlobStore, plan: RecordedPlan): Promise<SettledRecord[]> {
  const records: SettledRecord[] = [];
  let atOnce = PARALLEL_LARGE_RECORDS;
  const read = async (shard: number): Promise<SettledRecord> => {
    const record = await finishedShard(store, plan.recordKey(shard));
    if (record === undefined) throw new ShardMissingError(plan.runId, shard);
    const { exclusions, ...settled } = record;
    for (const one of exclusions) plan.exclude?.(one);
    if (exclusions.length > LARGE_RECORD) atOnce = PARALLEL_LARGE_RECORDS;
    return settled;
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
/** Of so many exclusions a record is a megabyte; where one is, the others are likely to be. */
const LARGE_RECORD = 5_000;
const PARALLEL_LARGE_RECORDS = 3;

export async function sealedShards(
  store: BlobStore,
  kept: readonly SettledRecord[],
): Promise<Manifest['shards']> {
  const shards: Manifest['shards'] = [];
  for (let first = 0; first < kept.length; first += PARALLEL_RECORDS) {
    const some = kept.slice(first, first + PARALLEL_RECORDS);
    shards.push(...(await Promise.all(some.map((record) => sealedShard(store, record)))));
  }
  return shards;
}

async function sealedShard(store: BlobStore, record: SettledRecord): Promise<Manifest['shards'][number]> {
  const head = await store.head(record.key);
  if (
    head === undefined ||
    head.size !== record.bytes ||
    (head.crc32 !== undefined && head.crc32 !== record.crc32)
  ) {
    throw new ShardMissingError(record.key, record.shard);
  }
  const { name, bytes, crc32, samples, members, memberList } = record;
  return {
    name,
    bytes,
    crc32,
    etag: head.etag,
    samples,
    members,
    memberList: memberList.key,
    memberListSha256: memberList.sha256,
  };
}
