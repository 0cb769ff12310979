/** Proves that the joined generation holds what the old ones held, seals it, and puts it in their place. */

import type { PackingSettings } from '../../pipeline/pipeline.ts';
import { type BlobStore, joinChunks } from '../model/blob-store.ts';
import type { Manifest, MemberLine } from '../model/documents.ts';
import { KeySum } from '../model/key-sum.ts';
import { type Places, places, shardNumberOf } from '../model/packing-keys.ts';
import { readSealed } from '../model/sealed-arrivals.ts';
import { batchOf, changeDataset, versionsIn } from '../model/versions.ts';
import { AccountsDifferError, ArrivalsWriter } from '../seal/audit.ts';
import { readRecords, type SettledRecord, sealedShards } from '../seal/committed-shards.ts';
import { datasetIndex, shardIndex, writeSide } from '../seal/side-files.ts';
import { CopyCounter } from '../shard/copy-counter.ts';
import { preparedIn } from '../shard/shard-members.ts';
import { manifestsOfPlan, memberLines } from './compact-shards.ts';
import { type ArrivalsOf, mergeArrivals } from './merge-arrivals.ts';
import { type CompactionPlan, readCompactionPlan } from './plan-compaction.ts';

export interface SealCompactionInput {
  readonly pipeline: string;
  readonly generation: string;
  readonly packing: PackingSettings;
}

export interface CompactionResult {
  /** `superseded`: another was faster, or part of it was pruned; the dataset is without this one. */
  readonly status: 'compacted' | 'superseded';
  readonly generation: string;
  readonly of: readonly string[];
  readonly shards: number;
  readonly samples: number;
  readonly bytes: number;
}

export async function sealCompaction(
  store: BlobStore,
  input: SealCompactionInput,
): Promise<CompactionResult> {
  const { pipeline, generation } = input;
  const sealed = await readSealed(store, pipeline, generation);
  const manifest = sealed ?? (await seal(store, input));
  const of = manifest.compacted?.of ?? [];
  const isIn = await putInPlace(store, manifest, of);
  const { samples, bytes } = manifest;
  const status = isIn ? 'compacted' : 'superseded';
  return { status, generation, of, shards: manifest.shards.length, samples, bytes };
}

/** The swap: one conditional write. Whoever finds that an input is no longer there leaves the dataset alone. */
async function putInPlace(store: BlobStore, manifest: Manifest, of: readonly string[]): Promise<boolean> {
  const { pipeline, generation } = manifest;
  const newest = await changeDataset(versionsIn(store), pipeline, (version) => {
    if (version === undefined || version.added[generation] !== undefined) return undefined;
    const isThere = (name: string): boolean =>
      version.generations.includes(name) ||
      (version.added[name] === undefined && !version.replaced.includes(name));
    return of.every(isThere) ? { kind: 'compacted', generation, replaced: [...of] } : undefined;
  });
  return newest?.added[generation] !== undefined;
}

async function seal(
  store: BlobStore,
  { pipeline, generation, packing }: SealCompactionInput,
): Promise<Manifest> {
  const plan = await readCompactionPlan(store, pipeline, generation);
  const manifests = await manifestsOfPlan(store, plan);
  const at = places(pipeline, generation);
  const recordKey = (shard: number): string => at.shardRecord(plan.digest, shard);
  const records = await readRecords(store, { runId: generation, shards: plan.shards.length, recordKey });
  const shards = await sealedShards(store, records);
  const repeated = await proveEqual(store, { plan, manifests, at, records, shards, packing });
  const arrivals = await sealArrivals(store, at, { plan, manifests });
  const first = manifests.find((one) => one.shards.length > 0);
  if (first === undefined) throw new AccountsDifferError(generation, 'nothing that it joins has a shard');
  const facts = { columns: first.shape.columns ?? [] };
  await writeSide(store, at, datasetIndex({ generation, settings: packing, facts, shards }));
  const manifest: Manifest = {
    version: 1,
    pipeline,
    generation,
    format: packing.format,
    shape: first.shape,
    compacted: { of: plan.of.map((one) => one.generation), numbers: plan.numbers },
    ...(first.compression && { compression: first.compression }),
    seed: packing.seed,
    plan: plan.digest,
    listedAt:
      manifests
        .map(({ listedAt }) => listedAt)
        .sort()
        .at(-1) ?? '',
    samples: sum(records, ({ samples }) => samples),
    members: sum(records, ({ members }) => members),
    repeated,
    bytes: sum(records, ({ bytes }) => bytes),
    shards,
    ...arrivals,
    ...workersOf(shards, manifests),
    ...balanceOf(manifests),
    ...preparedIn(manifests),
    ...(plan.even && { even: plan.even }),
    ...(await annotationsOf(store, at, manifests)),
  };
  const body = Buffer.from(`${JSON.stringify(manifest, undefined, 1)}\n`);
  await store.put(at.manifest, body, { only: 'absent', contentType: 'application/json' });
  return (await readSealed(store, pipeline, generation)) ?? manifest;
}

/** As many as all that was joined was divided among, if the new shards divide among them too. */
function workersOf(shards: Manifest['shards'], joined: readonly Manifest[]): Pick<Manifest, 'workers'> {
  const all = new Set(joined.filter((one) => one.shards.length > 0).map(({ workers = 1 }) => workers));
  const [workers = 1] = all;
  return all.size === 1 && workers > 1 && shards.length % workers === 0 ? { workers } : {};
}

const sum = <T>(all: readonly T[], of: (one: T) => number): number =>
  all.reduce((total, one) => total + of(one), 0);

interface Books {
  readonly plan: CompactionPlan;
  readonly manifests: readonly Manifest[];
  readonly at: Places;
  readonly records: readonly SettledRecord[];
  readonly shards: Manifest['shards'];
  readonly packing: PackingSettings;
}

/** Member by member, copies apart: what is in the new shards is what was in the old ones. */
async function proveEqual(store: BlobStore, books: Books): Promise<number> {
  const { plan, manifests, at, shards, packing } = books;
  const compaction = plan.generation;
  const [old, joined] = [new Tally(), new Tally()];
  for (const some of plan.shards)
    for (const [input, number] of some) {
      const manifest = manifests[input];
      const shard = manifest?.shards[number];
      if (manifest === undefined || shard === undefined)
        throw new AccountsDifferError(compaction, 'a shard is gone');
      const from = places(plan.pipeline, manifest.generation);
      old.add(`${input}/${number}`, await memberLines(store, from, { shard, compaction }));
    }
  for (const shard of shards) {
    const lines = await memberLines(store, at, { shard, compaction });
    joined.add(shard.name, lines);
    await writeSide(store, at, shardIndex(packing, shard, lines));
  }
  const inputs = sum(manifests, ({ samples }) => samples);
  const outputs = sum(books.records, ({ samples }) => samples);
  if (!old.equals(joined) || inputs !== outputs)
    throw new AccountsDifferError(
      compaction,
      `${old.members} members of ${inputs} samples were to be joined, ${joined.members} of ${outputs} are, or others`,
    );
  if (plan.even && books.records.some(({ samples }) => samples !== plan.even?.samples))
    throw new AccountsDifferError(compaction, 'the counts of its shards are not equal');
  return joined.copies.count;
}

/** An order-free digest of members: source, content and copy. */
class Tally {
  readonly #sum = new KeySum();
  readonly copies = new CopyCounter();
  members = 0;

  add(shard: string, lines: readonly MemberLine[]): void {
    for (const line of lines) {
      const { key = '', etag = '', sha256, crc32, size, column = '', repeat = 0 } = line;
      this.#sum.add(`${key}\0${column}\0${String(repeat)}`, `${etag}\0${crc32 ?? sha256}\0${size}`);
      this.copies.add(shard, line);
      this.members += 1;
    }
  }

  equals(other: Tally): boolean {
    return this.#sum.equals(other.#sum) && this.copies.count === other.copies.count;
  }
}

async function sealArrivals(
  store: BlobStore,
  at: Places,
  { plan, manifests }: Pick<Books, 'plan' | 'manifests'>,
): Promise<Pick<Manifest, 'arrivals' | 'rejections'>> {
  const all = manifests.map((manifest): ArrivalsOf & { shardOf: Map<number, number> } => ({
    manifest,
    shardOf: new Map(),
  }));
  for (const [shard, some] of plan.shards.entries())
    for (const [input, number] of some) {
      const one = all[input];
      const old = one?.manifest.shards[number];
      if (one !== undefined && old !== undefined) one.shardOf.set(shardNumberOf(old.name), shard);
    }
  const writer = new ArrivalsWriter(store, at);
  const newest = newestAnnotated(manifests)?.annotations?.version;
  const byAge = all.toSorted((a, b) => batchOf(a.manifest.generation) - batchOf(b.manifest.generation));
  return writer.finish(await mergeArrivals(store, writer, { all: byAge, newest }));
}

const newestAnnotated = (manifests: readonly Manifest[]): Manifest | undefined =>
  manifests
    .filter(({ annotations }) => annotations !== undefined)
    .toSorted((a, b) => batchOf(a.generation) - batchOf(b.generation))
    .at(-1);

/** Classes are counted over all of them; left out where some were balanced and some were not. */
function balanceOf(manifests: readonly Manifest[]): Pick<Manifest, 'balance'> {
  const balances = manifests.filter(({ shards }) => shards.length > 0).map(({ balance }) => balance);
  const mode = balances[0]?.mode;
  if (mode === undefined || balances.some((balance) => balance?.mode !== mode)) return {};
  const classes = new Map<string, { samples: number; dealt: number }>();
  for (const [name, { samples, dealt }] of balances.flatMap((one) => Object.entries(one?.classes ?? {}))) {
    const before = classes.get(name) ?? { samples: 0, dealt: 0 };
    classes.set(name, { samples: before.samples + samples, dealt: before.dealt + dealt });
  }
  return { balance: { mode, classes: Object.fromEntries(classes) } };
}

/** What the newest file of annotations had to say; its list of problems comes along. */
async function annotationsOf(
  store: BlobStore,
  at: Places,
  manifests: readonly Manifest[],
): Promise<Pick<Manifest, 'annotations'>> {
  const newest = newestAnnotated(manifests);
  if (newest?.annotations === undefined) return {};
  const { problems } = newest.annotations;
  if (problems === undefined) return { annotations: newest.annotations };
  const from = places(newest.pipeline, newest.generation);
  const found = await store.get(`${from.generation}${problems.list}`);
  if (found.kind !== 'found') throw new AccountsDifferError(at.generation, `${problems.list} is gone`);
  await store.put(`${at.generation}${problems.list}`, joinChunks(found.chunks), {
    contentType: 'application/gzip',
  });
  return { annotations: newest.annotations };
}
