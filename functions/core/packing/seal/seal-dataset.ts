/** SealDataset: proves that every planned arrival is accounted for, then writes the manifest, which makes the generation exist. */
import type { PackingSettings } from '../../pipeline/pipeline.ts';
import { formatOf } from '../formats/formats.ts';
import { type BlobStore, joinChunks } from '../model/blob-store.ts';
import { outdatedEngine, readPlan } from '../model/committed-plan.ts';
import type { Manifest, MemberLine, Plan, ShardRecord } from '../model/documents.ts';
import { Exclusions } from '../model/exclusions.ts';
import { type Places, places } from '../model/packing-keys.ts';
import { readSealed } from '../model/sealed-arrivals.ts';
import { takeIn, versionsIn } from '../model/versions.ts';
import { preparedIn } from '../shard/shard-members.ts';
import { AccountsDifferError, accountArrivals, type MemberObserver } from './audit.ts';
import { ClassCounter } from './class-counter.ts';
import { readRecords, type SettledRecord, ShardMissingError, sealedShards } from './committed-shards.ts';
import { deletePacked } from './delete-packed.ts';
import {
  datasetIndex,
  type SideFile,
  type SideFileWriter,
  shardIndexWriter,
  writeSide,
} from './side-files.ts';

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
  readonly rejections: Rejections;
}

/** Why arrivals were rejected: all reasons counted, and a few of the arrivals. Small, since it travels through the state machine. */
interface Rejections {
  readonly byReason: Readonly<Record<string, number>>;
  readonly examples: readonly { readonly key: string; readonly reason: string }[];
}

const EXAMPLES_TOLD = 5;

export async function sealDataset(deps: SealDeps, input: SealInput): Promise<SealResult> {
  const at = places(input.pipeline, input.runId);
  const before = await readSealed(deps.store, input.pipeline, input.runId);
  const manifest = before ?? (await seal(deps.store, input, at));
  if (manifest === undefined) return emptyResult(input.runId);
  if (manifest.shards.length > 0) await takeIn(versionsIn(deps.store), input.pipeline);
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
    rejections: {
      byReason: manifest.rejections.byReason,
      examples: manifest.rejections.examples.slice(0, EXAMPLES_TOLD),
    },
  };
}

const emptyResult = (generation: string): SealResult => ({
  status: 'nothingToTrain',
  generation,
  shards: 0,
  samples: 0,
  bytes: 0,
  rejected: 0,
  rejections: { byReason: {}, examples: [] },
});

async function seal(store: BlobStore, input: SealInput, at: Places): Promise<Manifest | undefined> {
  const plan = await readPlan(store, input);
  if (plan === undefined) throw new Error(`${input.runId} has no plan; run PlanShards first`);
  if (plan.objects === 0) return undefined;
  const exclusions = new Exclusions(plan.samples);
  const records = await recordsOf(store, plan, { at, exclusions });
  proveEven(plan, records);
  const kept = records.filter((record) => record.samples > 0);
  const shards = await sealedShards(store, kept);
  const classes = new ClassCounter();
  const observer = observerOf(shards, {
    classes,
    indexOf: (shard) => shardIndexWriter(input.packing, shard),
    write: (file) => writeSide(store, at, file),
  });
  const accounts = await accountArrivals(store, { at, plan, records, exclusions, observer });
  if (shards.length > 0) {
    const { facts } = plan;
    await writeSide(
      store,
      at,
      datasetIndex({
        generation: input.runId,
        settings: input.packing,
        facts,
        shards,
        revision: plan.revision,
      }),
    );
  }
  const format = formatOf(input.packing);
  const manifest: Manifest = {
    version: 1,
    pipeline: input.pipeline,
    generation: input.runId,
    format: input.packing.format,
    shape: format.shape(input.packing, plan.facts),
    ...(format.isGzipped?.(input.packing) === true && { compression: 'gzip' }),
    seed: input.packing.seed,
    plan: plan.digest,
    ...(plan.revision !== undefined && { revision: plan.revision }),
    listedAt: plan.listedAt,
    samples: sum(kept, (record) => record.samples),
    members: sum(kept, (record) => record.members),
    repeated: accounts.repeated,
    bytes: sum(kept, (record) => record.bytes),
    shards,
    arrivals: accounts.arrivals,
    ...classes.sealedBalance(plan),
    ...sealedWorkers(plan, input.packing),
    ...(plan.even && { even: plan.even }),
    ...preparedIn(kept),
    ...(plan.annotations && { annotations: await sealAnnotations(store, at, plan.annotations) }),
    rejections: accounts.rejections,
  };
  const body = Buffer.from(`${JSON.stringify(manifest, undefined, 1)}\n`);
  const key = shards.length === 0 ? at.rejectionsOnly : at.manifest;
  const put = await store.put(key, body, { only: 'absent', contentType: 'application/json' });
  return put.kind === 'written' ? manifest : readSealed(store, input.pipeline, input.runId);
}

/** Plans of earlier releases did not say it. */
function sealedWorkers(
  plan: Plan,
  { shardsMultipleOf: declared = 1 }: PackingSettings,
): Pick<Manifest, 'workers'> {
  const workers = plan.workers ?? declared;
  return workers > 1 ? { workers } : {};
}

interface Observing {
  readonly classes: ClassCounter;
  readonly indexOf: (shard: Manifest['shards'][number]) => SideFileWriter | undefined;
  readonly write: (file: SideFile | undefined) => Promise<void>;
}

/** Counts classes and makes the shards' indexes while the member lists go by. */
const observerOf = (shards: Manifest['shards'], { classes, indexOf, write }: Observing) => {
  const byName = new Map(shards.map((shard) => [shard.name, shard]));
  return ({ name }: Pick<ShardRecord, 'name'>): MemberObserver => {
    const shard = byName.get(name);
    const index = shard && indexOf(shard);
    const see = (line: MemberLine): void => {
      classes.add(line);
      index?.add(line);
    };
    return { see, end: () => write(index?.file()) };
  };
};

/** The list of rows that were of no use becomes a part of the generation. */
async function sealAnnotations(
  store: BlobStore,
  at: Places,
  annotations: NonNullable<Plan['annotations']>,
): Promise<Manifest['annotations']> {
  const { problems } = annotations;
  if (problems === undefined) return annotations;
  const found = await store.get(problems.list);
  if (found.kind !== 'found')
    throw new Error(`${problems.list} is gone; remove the run's plan folder and pack again`);
  const list = at.annotationProblems;
  await store.put(`${at.generation}${list}`, joinChunks(found.chunks), { contentType: 'application/gzip' });
  return { ...annotations, problems: { list, sha256: problems.sha256 } };
}

async function recordsOf(
  store: BlobStore,
  plan: Plan,
  { at, exclusions }: { readonly at: Places; readonly exclusions: Exclusions },
): Promise<SettledRecord[]> {
  const { runId, shards, digest } = plan;
  const recordKey = (shard: number): string => at.shardRecord(digest, shard);
  try {
    return await readRecords(store, { runId, shards, recordKey, exclude: (one) => exclusions.add(one) });
  } catch (error: unknown) {
    // No worker of this release can make up for what is missing.
    const outdated = error instanceof ShardMissingError ? outdatedEngine(runId, plan) : undefined;
    throw outdated ?? error;
  }
}

/** Workers that go by counts wait for each other forever when one has a sample less. */
function proveEven({ even, runId }: Plan, records: readonly SettledRecord[]): void {
  for (const { shard, samples } of records) {
    if (even === undefined || shard >= even.shards || samples === 0 || samples === even.samples) continue;
    throw new AccountsDifferError(runId, `shard ${shard} holds ${samples} samples, not ${even.samples}`);
  }
}

const sum = <T>(all: readonly T[], of: (one: T) => number): number =>
  all.reduce((total, one) => total + of(one), 0);
