/** SealDataset: proves that every planned arrival is accounted for, then writes the manifest, which makes the generation exist. */
import type { PackingSettings } from '../pipeline.ts';
import { accountArrivals } from './account.ts';
import { finishedShard } from './decide-shard.ts';
import { deletePacked } from './delete-packed.ts';
import { type Places, places } from './places.ts';
import { readPlan } from './plan.ts';
import { type BlobStore, readText } from './port.ts';
import { type Manifest, manifestSchema, type Plan, type ShardRecord } from './records.ts';

export interface SealDeps {
  readonly store: BlobStore;
}

export interface SealInput {
  readonly runId: string;
  readonly pipeline: string;
  readonly packing: PackingSettings;
}

export interface SealResult {
  readonly status: 'sealed' | 'alreadySealed' | 'nothingToTrain';
  readonly generation: string;
  readonly shards: number;
  readonly samples: number;
  readonly bytes: number;
  readonly rejected: number;
}

/** A planned shard is not finished: packing has to run (again) before the seal. */
export class ShardMissingError extends Error {
  override readonly name = 'ShardMissingError';
  constructor(runId: string, shard: number) {
    super(
      `shard ${shard} of ${runId} is planned but not packed; run PackShards for this run again, then seal`,
    );
  }
}

export async function sealDataset(deps: SealDeps, input: SealInput): Promise<SealResult> {
  const at = places(input.pipeline, input.runId);
  const before = await readManifest(deps.store, at);
  const manifest = before ?? (await seal(deps.store, input, at));
  if (manifest === undefined) return emptyResult(input.runId);
  if (input.packing.whenDone === 'delete') await deletePacked(deps.store, manifest);
  const shards = manifest.shards.length;
  const sealed = before === undefined ? 'sealed' : 'alreadySealed';
  return {
    status: shards === 0 ? 'nothingToTrain' : sealed,
    generation: input.runId,
    shards,
    samples: manifest.samples,
    bytes: manifest.bytes,
    rejected: manifest.arrivals.rejected,
  };
}

const emptyResult = (generation: string): SealResult => ({
  status: 'nothingToTrain',
  generation,
  shards: 0,
  samples: 0,
  bytes: 0,
  rejected: 0,
});

async function readManifest(store: BlobStore, at: Places): Promise<Manifest | undefined> {
  const text = await readText(store, at.manifest);
  return text === undefined ? undefined : manifestSchema.parse(JSON.parse(text));
}

async function seal(store: BlobStore, input: SealInput, at: Places): Promise<Manifest | undefined> {
  const plan = await readPlan(store, input);
  if (plan === undefined) throw new Error(`${input.runId} has no plan; run PlanShards first`);
  if (plan.objects === 0) return undefined;
  const records = await readRecords(store, at, plan);
  const accounts = await accountArrivals(store, { at, plan, records });
  const kept = records.filter((record) => record.samples > 0);
  const manifest: Manifest = {
    version: 1,
    pipeline: input.pipeline,
    generation: input.runId,
    format: input.packing.format,
    seed: input.packing.seed,
    plan: plan.digest,
    listedAt: plan.listedAt,
    samples: sum(kept, (record) => record.samples),
    members: sum(kept, (record) => record.members),
    bytes: sum(kept, (record) => record.bytes),
    shards: await Promise.all(kept.map((record) => sealedShard(store, record))),
    arrivals: accounts.arrivals,
    rejections: accounts.rejections,
  };
  const body = Buffer.from(`${JSON.stringify(manifest, undefined, 1)}\n`);
  const put = await store.put(at.manifest, body, { only: 'absent', contentType: 'application/json' });
  return put.kind === 'written' ? manifest : readManifest(store, at);
}

const sum = <T>(all: readonly T[], of: (one: T) => number): number =>
  all.reduce((total, one) => total + of(one), 0);

/** Records are asked for a few at a time; a shard whose upload nobody finished is finished here. */
async function readRecords(store: BlobStore, at: Places, plan: Plan): Promise<ShardRecord[]> {
  const records: ShardRecord[] = [];
  for (let first = 0; first < plan.shards; first += PARALLEL_RECORDS) {
    const some = Array.from({ length: Math.min(PARALLEL_RECORDS, plan.shards - first) }, async (_, index) => {
      const record = await finishedShard(store, at.shardRecord(plan.digest, first + index));
      if (record === undefined) throw new ShardMissingError(plan.runId, first + index);
      return record;
    });
    records.push(...(await Promise.all(some)));
  }
  return records;
}
const PARALLEL_RECORDS = 32;

async function sealedShard(store: BlobStore, record: ShardRecord): Promise<Manifest['shards'][number]> {
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
