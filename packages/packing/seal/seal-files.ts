/** Seals a generation of files: the list of arrivals, each with the ETag that was listed, and no shard. */

import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { partsOf, type SplitSettings } from '@tidewheel/declaration/packing-settings.ts';
import type { DatasetSettings, PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { ConfigurationError } from '@tidewheel/kit/errors.ts';
import { keysRetracted, readRetractions } from '../arrivals/retractions.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import { linesOf } from '../documents/compressed-lines.ts';
import { DOCUMENT_VERSION, type Plan, parseArrival } from '../documents/documents.ts';
import type { Manifest, SealedLine } from '../documents/manifest.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { type Deferral, isDeferral } from '../documents/rejections.ts';
import { manifestsOf } from '../documents/sealed-arrivals.ts';
import { sealedLines } from '../documents/sealed-lines.ts';
import { batchOf, blobVersions, newestVersion } from '../documents/versions.ts';
import { sealedAs } from '../plan/plan-files.ts';
import { ArrivalsWriter, LeftTally, readCompressed } from './audit.ts';
import { keepFiles, type SealedFile } from './kept-files.ts';

export interface SealFilesInput {
  readonly runId: string;
  readonly pipeline: string;
  readonly packing: PackingSettings;
  /** By default no file is copied. */
  readonly keep?: DatasetSettings['keep'];
}

/**
 * The same plan gives the same manifest, but for files that changed before their copies were made. Those are left to the
 * next run.
 */
export async function filesManifest(store: BlobStore, input: SealFilesInput, plan: Plan): Promise<Manifest> {
  const { pipeline, packing, runId, keep } = input;
  const before = await versionBefore(store, input);
  const retractions = await readRetractions(store, pipeline);
  const planned = await readPlanned(store, input, {
    plan,
    retracted: keysRetracted(retractions, plan.retractions),
  });
  const found = keep === undefined ? planned : await copyAll(store, pipeline, planned);
  const sealed: Listed = (await isVersion(store, before, { packing, found })) ? asBefore(found) : found;
  return {
    version: DOCUMENT_VERSION,
    pipeline,
    generation: runId,
    format: packing.format,
    schema: {},
    seed: packing.seed,
    plan: plan.digest,
    listedAt: plan.listedAt,
    repeated: 0,
    shards: [],
    ...(await writeLists(store, input, sealed)),
    ...(retractions.length > 0 && { retractions: retractions.length }),
  };
}

/**
 * The newest version of files.
 * @throws ConfigurationError if it is of a later run
 */
async function versionBefore(
  store: BlobStore,
  { pipeline, runId, packing }: SealFilesInput,
): Promise<Manifest | undefined> {
  const newest = await newestVersion(blobVersions(store), pipeline);
  const later = newest?.generations.find((generation) => batchOf(generation) > batchOf(runId));
  if (later !== undefined)
    throw new ConfigurationError(
      `${later} is sealed already, with all files that lay under incoming/ later: start a new run`,
    );
  const manifests = await manifestsOf(store, pipeline, newest?.generations ?? []);
  return manifests.find(({ format }) => format === packing.format);
}

interface LeftFile {
  readonly key: string;
  readonly reason: Deferral;
  readonly since?: number | undefined;
}

interface Listed {
  /** In order. */
  readonly lines: readonly SealedLine[];
  readonly left: readonly LeftFile[];
}

interface PlannedFiles {
  readonly plan: Plan;
  /** By people since the plan was made. */
  readonly retracted: ReadonlySet<string>;
}

async function readPlanned(
  store: BlobStore,
  { pipeline, runId }: SealFilesInput,
  { plan, retracted }: PlannedFiles,
): Promise<Listed> {
  const keys = packingKeys(pipeline, runId);
  const lines: SealedLine[] = [];
  const left: LeftFile[] = [];
  for (let part = 0; part < plan.arrivalParts; part += 1)
    for (const text of linesOf(await readCompressed(store, keys.planArrivals(plan.digest, part)))) {
      const arrival = parseArrival(text);
      const [key, size, etag, fate, since] = arrival;
      const line = sealedAs(arrival);
      if (typeof fate === 'string' && isDeferral(fate)) left.push({ key, reason: fate, since });
      else if (retracted.has(key)) lines.push([key, etag, size, 'retracted']);
      else if (line !== undefined) lines.push(line);
    }
  return { lines, left };
}

const filesOf = ({ lines }: Listed): readonly SealedFile[] =>
  lines.flatMap(([key, etag, size, fate]) => (typeof fate === 'number' ? [{ key, etag, size }] : []));

const bytesOf = (files: readonly SealedFile[]): number => files.reduce((sum, { size }) => sum + size, 0);

async function copyAll(store: BlobStore, pipeline: string, planned: Listed): Promise<Listed> {
  const left = await keepFiles(store, pipeline, filesOf(planned));
  return {
    lines: planned.lines.filter(([key]) => !left.has(key)),
    left: [...planned.left, ...[...left].map(([key, reason]) => ({ key, reason }))],
  };
}

/** Whether the version has the same files in the same parts. */
async function isVersion(
  store: BlobStore,
  before: Manifest | undefined,
  { packing, found }: { readonly packing: PackingSettings; readonly found: Listed },
): Promise<boolean> {
  if (before === undefined || !isDeepStrictEqual(before.split, packing.split)) return false;
  const now = found.lines.filter(([, , , fate]) => typeof fate === 'number').values();
  for await (const [key, etag, , fate] of sealedLines(store, before)) {
    if (typeof fate !== 'number') continue;
    const next = now.next().value;
    if (next?.[0] !== key || next[1] !== etag || next[3] !== fate) return false;
  }
  return now.next().done === true;
}

/** No new version: the generation tells what was rejected. */
const asBefore = ({ lines, left }: Listed): Listed => ({
  lines: lines.map(([key, etag, size, fate]) =>
    typeof fate === 'number' ? [key, etag, size, 'unchanged', etag] : [key, etag, size, fate],
  ),
  left,
});

/** @returns what the manifest says of them */
async function writeLists(
  store: BlobStore,
  { pipeline, runId, packing: { split } }: SealFilesInput,
  sealed: Listed,
) {
  const keys = packingKeys(pipeline, runId);
  // Of two seals at once, one may find a change or a retraction that the other does not.
  const name = hash('sha256', JSON.stringify(sealed)).slice(0, 12);
  const arrivals = (part: number) => keys.arrivals(part).replace('.', `-${name}.`);
  const writer = new ArrivalsWriter(store, { ...keys, arrivals });
  for (const [key, etag, size, fate, of] of sealed.lines)
    await (typeof fate === 'number'
      ? writer.packed([key, etag, size, fate])
      : writer.rejected([key, etag, size, fate, of]));
  const left = new LeftTally();
  for (const one of sealed.left) left.add(one);
  writer.deferred = left.count;
  const files = filesOf(sealed);
  return {
    samples: files.length,
    members: files.length,
    bytes: bytesOf(files),
    ...(await writer.finish(sealed.lines.length + left.count)),
    ...left.found(),
    ...(split && { split, splits: splitsOf(split, sealed) }),
  };
}

/** The place of a part is what the lines have in place of a shard's number. */
const splitsOf = (split: SplitSettings, { lines }: Listed): NonNullable<Manifest['splits']> =>
  partsOf(split).map((name, first) => {
    const mine = lines.filter(([, , , fate]) => fate === first);
    const bytes = mine.reduce((sum, [, , size]) => sum + size, 0);
    return { name, first, shards: 0, samples: mine.length, bytes };
  });
