/**
 * Prunes old generations. A prune first adds a version of the dataset without them, then looks for their readers and
 * pins, then deletes their shards. A run first records what it reads and then checks the versions
 * (dataset-version.ts). S3 reads are strongly consistent, so at least one of the two sees the other.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html#ConsistencyModel
 */

import { bucketKeys, parseGeneration, parseRunId } from '@tidewheel/contract/bucket-keys.ts';
import { isUnpacked } from '@tidewheel/declaration/packing-settings.ts';
import { mapLimited } from '@tidewheel/kit/limited.ts';
import { firstOf } from '@tidewheel/kit/validation.ts';
import * as z from 'zod';
import { type BlobStore, type KeyFailure, listPages, readText } from '../documents/blob-store.ts';
import { holdsNothing, type Manifest } from '../documents/manifest.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { manifestsOf, readSealedManifest } from '../documents/sealed-arrivals.ts';
import {
  batchOf,
  blobVersions,
  changeDataset,
  type DatasetVersion,
  newestVersion,
  readVersion,
  type VersionStore,
  versionUpTo,
} from '../documents/versions.ts';
import { formatOf } from '../formats/formats.ts';
import { deleteUnnamed } from '../seal/kept-files.ts';

export interface PruneRequest {
  readonly pipeline: string;
  /**
   * `before`: the dataset then begins with this generation. `only`: all others stay. `replaced`: only generations that
   * joined ones replaced.
   */
  readonly what: { readonly before: string } | { readonly only: string } | 'replaced';
  /** Reads the version that the declaration pins at this moment, if any. */
  readonly pin: () => Promise<string | undefined>;
  /** Runs that have ended without a report. */
  readonly over?: readonly string[];
  /** Report what would be deleted, and delete nothing. */
  readonly dryRun?: boolean;
}

export type PruneResult =
  | {
      readonly kind: 'pruned' | 'wouldPrune';
      readonly generations: readonly string[];
      readonly objects: number;
      readonly bytes: number;
    }
  | { readonly kind: 'refused'; readonly reasons: readonly string[] };

/** Some objects of pruned generations were not deleted. No run reads them. */
class NotDeletedError extends Error {
  override readonly name = 'NotDeletedError';
  readonly failures: readonly KeyFailure[];

  constructor(failures: readonly KeyFailure[]) {
    const each = failures.map(({ key, code, message }) => `${key}: ${code} ${message}`.trimEnd());
    const counted = failures.length === 1 ? '1 object was' : `${failures.length} objects were`;
    super(`${counted} not deleted. Remove the cause below and prune again:\n  ${firstOf(each).join('\n  ')}`);
    this.failures = failures;
  }
}

/** It may be stopped at any point and run again. The next prune deletes what this one left. */
export async function pruneGenerations(store: BlobStore, request: PruneRequest): Promise<PruneResult> {
  const { pipeline, what } = request;
  const versions = blobVersions(store);
  const newest = await newestVersion(versions, pipeline);
  const problem = problemOf(newest, what);
  if (newest === undefined || problem !== undefined) return { kind: 'refused', reasons: [problem ?? ''] };
  const wanted = targetsOf(newest, what);
  const reasons = await reasonsToKeep(store, request, wanted);
  if (reasons.length > 0) return { kind: 'refused', reasons };
  const unfinished = what === 'replaced' ? await supersededCompactions(store, pipeline, newest) : [];
  if (request.dryRun === true)
    return deleteAll(store, request, { names: [...wanted, ...unfinished], dryRun: true });
  const taken = await changeDataset(versions, pipeline, (now) => {
    const pruned = now === undefined ? [] : targetsOf(now, what).filter((name) => !now.pruned.includes(name));
    return pruned.length === 0 ? undefined : { kind: 'pruned', generations: pruned };
  });
  const targets = taken === undefined ? [] : targetsOf(taken, what);
  const late = await reasonsToKeep(store, request, targets);
  if (late.length === 0)
    return deleteAll(store, request, { names: [...targets, ...unfinished], dryRun: false });
  await changeDataset(versions, pipeline, (now) => {
    const back = targets.filter(
      (name) => now?.pruned.includes(name) === true && !newest.pruned.includes(name),
    );
    return back.length === 0 ? undefined : { kind: 'restored', generations: back };
  });
  return { kind: 'refused', reasons: late };
}

function problemOf(newest: DatasetVersion | undefined, what: PruneRequest['what']): string | undefined {
  if (newest === undefined) return 'there is no sealed generation yet: nothing can be pruned';
  if (what === 'replaced') return undefined;
  const name = 'only' in what ? what.only : what.before;
  if (newest.generations.includes(name) || ('only' in what && newest.pruned.includes(name))) return undefined;
  return `${name} is no generation of the newest version, which holds ${newest.generations.join(', ') || 'none'}`;
}

/** Generations that have no shards afterwards. An earlier prune may have left some of them half deleted. */
function targetsOf({ generations, replaced, pruned }: DatasetVersion, what: PruneRequest['what']): string[] {
  if (what === 'replaced') return [...replaced];
  if ('only' in what) return [what.only];
  const first = batchOf(what.before);
  return [...new Set([...generations, ...replaced, ...pruned])].filter((name) => batchOf(name) < first);
}

const noteSchema = z.object({ generations: z.array(z.string()) });

/** The generations that a run noted that it reads; undefined if it has not begun to read. */
async function readingOf(store: BlobStore, pipeline: string, runId: string): Promise<string[] | undefined> {
  let reading: string[] | undefined;
  for await (const page of listPages(store, bucketKeys.reads(pipeline, runId)))
    for (const { key } of page.objects) {
      const note = noteSchema.parse(JSON.parse((await readText(store, key)) ?? '{"generations":[]}'));
      reading = [...(reading ?? []), ...note.generations];
    }
  return reading;
}

/** Runs that have not written their report. */
export async function unfinishedRuns(store: BlobStore, pipeline: string): Promise<string[]> {
  const unfinished: string[] = [];
  const runs = bucketKeys.runs(pipeline);
  for await (const page of listPages(store, runs, { delimiter: '/' })) {
    const names = page.prefixes.map((folder) => folder.slice(runs.length, -1));
    const named = names.filter((name) => parseRunId(name) !== undefined);
    const report = (runId: string) => store.head(bucketKeys.report(pipeline, runId));
    const reports = await mapLimited(named, HEADS_AT_ONCE, report);
    unfinished.push(...named.filter((_, index) => reports[index] === undefined));
  }
  return unfinished;
}
/**
 * Each report takes one HEAD request. A listing would go through the plans of all runs, or take as many requests at
 * twelve times the price. https://aws.amazon.com/s3/pricing/
 */
const HEADS_AT_ONCE = 64;

/** All reasons to keep these generations, as sentences. */
async function reasonsToKeep(
  store: BlobStore,
  { pipeline, over, pin }: PruneRequest,
  targets: readonly string[],
): Promise<string[]> {
  const among = (names: readonly string[] = []): string =>
    names.filter((name) => targets.includes(name)).join(', ');
  const versions = blobVersions(store);
  const reasons: string[] = [];
  const pinned = await pin();
  const newest = await newestVersion(versions, pipeline);
  const number = pinned === undefined ? undefined : newest?.added[pinned];
  const held = number === undefined ? '' : among((await readVersion(versions, pipeline, number)).generations);
  if (held !== '')
    reasons.push(`the declaration pins ${pinned}, which holds ${held}: pin another version first`);
  for (const run of await unfinishedRuns(store, pipeline)) {
    if (over?.includes(run) === true) continue;
    const reading = await readingOf(store, pipeline, run);
    const read = among(reading ?? (await toBeRead(versions, pipeline, { run, newest })));
    if (read !== '')
      reasons.push(
        `${run} ${reading === undefined ? 'is going to read' : 'reads'} ${read} (it has no report yet): wait until it ends, or pass --over ${run} if it has ended`,
      );
  }
  return reasons;
}

/**
 * What a run is going to read that has not begun. It reads an older version, pruned generations included, if later
 * batches are sealed already. In the newest version nothing is pruned.
 */
async function toBeRead(
  versions: VersionStore,
  pipeline: string,
  { run, newest }: { readonly run: string; readonly newest: DatasetVersion | undefined },
): Promise<readonly string[] | undefined> {
  const version = await versionUpTo(versions, pipeline, batchOf(run));
  return version?.number === newest?.number ? undefined : version?.generations;
}

/** Joined generations that no version names, because another compaction was faster or an input was pruned. */
async function supersededCompactions(
  store: BlobStore,
  pipeline: string,
  { added, replaced, pruned }: DatasetVersion,
): Promise<string[]> {
  const superseded: string[] = [];
  for (const name of await blobVersions(store).folders(bucketKeys.dataset(pipeline))) {
    if (parseGeneration(name)?.isCompacted !== true || added[name] !== undefined) continue;
    const of = (await readSealedManifest(store, pipeline, name))?.compacted?.of ?? [];
    if (of.some((input) => replaced.includes(input) || pruned.includes(input))) superseded.push(name);
  }
  return superseded;
}

async function deleteAll(
  store: BlobStore,
  { pipeline, over = [] }: PruneRequest,
  { names, dryRun }: { readonly names: readonly string[]; readonly dryRun: boolean },
): Promise<PruneResult> {
  const generations: string[] = [];
  const total = { objects: 0, bytes: 0 };
  const failures: KeyFailure[] = [];
  for (const name of names) {
    const manifest = await readSealedManifest(store, pipeline, name);
    if (manifest === undefined) continue;
    const deleted = await deleteGeneration(store, manifest, dryRun);
    if (deleted.objects > 0) generations.push(name);
    total.objects += deleted.objects;
    total.bytes += deleted.bytes;
    failures.push(...deleted.failures);
  }
  const copies = await deleteCopies(store, pipeline, { names, over, dryRun });
  total.objects += copies.objects;
  total.bytes += copies.bytes;
  failures.push(...copies.failures);
  if (failures.length > 0) throw new NotDeletedError(failures);
  return { kind: dryRun ? 'wouldPrune' : 'pruned', generations, ...total };
}

const NO_COPIES = { objects: 0, bytes: 0, failures: [] };

/** Deletes copies that no version names; none while a run is unfinished, since its seal may name what it has copied. */
async function deleteCopies(
  store: BlobStore,
  pipeline: string,
  {
    names,
    over,
    dryRun,
  }: { readonly names: readonly string[]; readonly over: readonly string[]; readonly dryRun: boolean },
): Promise<Awaited<ReturnType<typeof deleteUnnamed>>> {
  if ((await store.listPage(bucketKeys.keptFiles(pipeline), { maximum: 1 })).objects.length === 0)
    return NO_COPIES;
  const unfinished = await unfinishedRuns(store, pipeline);
  if (unfinished.some((run) => !over.includes(run))) return NO_COPIES;
  const folders = await blobVersions(store).folders(bucketKeys.dataset(pipeline));
  const left = folders.filter((name) => parseGeneration(name) !== undefined && !names.includes(name));
  const named = (await manifestsOf(store, pipeline, left)).filter(
    (one) => isUnpacked(one) && one.pruned !== true,
  );
  return deleteUnnamed(store, pipeline, { named, dryRun });
}

/** The numbers of a quality report stay, because a hold may go by them; its pictures do not. */
const PRUNED = [
  'shards/',
  'members/',
  'index/',
  ...['report.html', 'tally.json', 'digests.bin', 'looks.bin'].map((name) => `quality/${name}`),
];

/** First keeps the lists of arrivals under another name, then deletes the manifest, then what it named. */
async function deleteGeneration(
  store: BlobStore,
  manifest: Manifest,
  dryRun: boolean,
): Promise<{
  readonly objects: number;
  readonly bytes: number;
  readonly failures: readonly KeyFailure[];
}> {
  const keys = packingKeys(manifest.pipeline, manifest.generation);
  if (!holdsNothing(manifest) && manifest.pruned !== true && !dryRun) {
    const record: Manifest = { ...manifest, shards: [], pruned: true };
    await store.put(keys.pruned, Buffer.from(`${JSON.stringify(record, undefined, 1)}\n`), {
      only: 'absent',
      contentType: 'application/json',
    });
    await store.delete(keys.manifest);
  }
  const failures: KeyFailure[] = [];
  let [objects, bytes] = [0, 0];
  const { datasetIndex } = formatOf(manifest);
  for (const part of [...PRUNED, ...(datasetIndex ? [datasetIndex.name] : [])]) {
    for await (const page of listPages(store, `${keys.generation}${part}`)) {
      if (!dryRun) failures.push(...(await store.deleteMany(page.objects.map(({ key }) => key))));
      objects += page.objects.length;
      bytes += page.objects.reduce((sum, { size }) => sum + size, 0);
    }
  }
  return { objects, bytes, failures };
}
