/**
 * Pins the source of a run. The first launch packs it under the hash of its content, and all attempts use that archive. A
 * later change of the folder affects the next run only. The pin is safe to repeat after a death at any line and to run
 * concurrently: the archive precedes the note that names it, each is written only if missing, and the first note holds.
 */

import { bucketKeys, SOURCE_FILE, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import { entryPointOf } from '@tidewheel/declaration/pipeline.ts';
import { belongsToSource } from '@tidewheel/declaration/script.ts';
import { LaunchRefusedError, RunNotFoundError, TransientError } from '@tidewheel/kit/errors.ts';
import type { ListedObject, ObjectStore } from '@tidewheel/kit/object-store.ts';
import type { ZipFile } from '@tidewheel/kit/zip.ts';
import * as z from 'zod';
import type { RunRecord } from '../../records/run-records.ts';
import { type PackedSource, packedSourceProblems, packSource } from './packed-source.ts';

const noteSchema = z.object({ digest: z.string().regex(/^[0-9a-f]{64}$/) });

/** @returns the digest of the pinned source; undefined for a source in another bucket, which only the job may read */
export async function pinnedSourceOf(store: ObjectStore, run: RunRecord): Promise<string | undefined> {
  const { pipeline, runId, declaration, source: asked } = run;
  if (declaration === undefined) throw new RunNotFoundError(runId);
  const { source, workingDirectory } = declaration.training;
  if (source.startsWith('s3://')) return undefined;
  const entryPoint = entryPointOf(declaration.training);
  return pinSource(store, { pipeline, runId, source, entryPoint, workingDirectory, asked });
}

export interface SourceOfRun {
  readonly pipeline: string;
  readonly runId: string;
  /** `training.source`, below the pipeline's folder. */
  readonly source: string;
  /** Absent where a command stands in its place. */
  readonly entryPoint?: string | undefined;
  readonly workingDirectory?: string | undefined;
  /** The digest on the run's record: of an earlier attempt, or of the run that this one does again. */
  readonly asked?: string | undefined;
}

/**
 * @returns the digest; the archive lies at `layout.packedSource(pipeline, digest)`
 * @throws LaunchRefusedError with every problem of the folder
 */
export async function pinSource(store: ObjectStore, run: SourceOfRun): Promise<string> {
  const noted = (await noteOf(store, run)) ?? (await noteAsked(store, run));
  if (noted !== undefined && (await isThere(store, run.pipeline, noted))) return noted;
  const packed = await packedFrom(store, run);
  if (noted !== undefined && noted !== packed.digest) {
    throw new LaunchRefusedError(
      `the source of ${run.runId} (${noted}) was deleted from ${bucketKeys.packedSource(run.pipeline, noted)}, and ${run.source} has changed since: restore the earlier files, or start a new run`,
    );
  }
  // The check saves the upload for a run with the same code. Create-only, because another process may write it too.
  if (!(await isThere(store, run.pipeline, packed.digest)))
    await store.createBytes(
      bucketKeys.packedSource(run.pipeline, packed.digest) + SOURCE_FILE,
      packed.archive,
    );
  if (noted !== undefined) return noted;
  const note = JSON.stringify({ digest: packed.digest });
  await store.createText(bucketKeys.pinnedSource(run.pipeline, run.runId), note);
  // Another process may have written the first note, from a folder that changed in between.
  return (await noteOf(store, run)) ?? packed.digest;
}

async function noteOf(
  store: ObjectStore,
  { pipeline, runId }: Pick<SourceOfRun, 'pipeline' | 'runId'>,
): Promise<string | undefined> {
  const stored = await store.readText(bucketKeys.pinnedSource(pipeline, runId));
  return stored === undefined ? undefined : noteSchema.parse(JSON.parse(stored.text)).digest;
}

async function noteAsked(store: ObjectStore, run: SourceOfRun): Promise<string | undefined> {
  if (run.asked === undefined) return undefined;
  const note = JSON.stringify({ digest: run.asked });
  await store.createText(bucketKeys.pinnedSource(run.pipeline, run.runId), note);
  return (await noteOf(store, run)) ?? run.asked;
}

export async function isThere(store: ObjectStore, pipeline: string, digest: string): Promise<boolean> {
  for await (const _ of store.list(bucketKeys.packedSource(pipeline, digest))) return true;
  return false;
}

const TOGETHER = 16;

async function packedFrom(store: ObjectStore, run: SourceOfRun): Promise<PackedSource> {
  const prefix = bucketKeys.sourceAt(run.pipeline, run.source);
  const before = await listing(store, prefix);
  const entries = before.map(({ key, size }) => ({ name: key.slice(prefix.length), size }));
  const problems = packedSourceProblems(entries, {
    where: s3Uri(store.bucket, prefix),
    entryPoint: run.entryPoint,
    workingDirectory: run.workingDirectory,
  });
  if (problems.length > 0)
    throw new LaunchRefusedError(`the source of ${run.runId} cannot be packed: ${problems.join('; ')}`);
  const files = await readAll(store, before, prefix);
  // During a deployment of new code the files read may mix two versions.
  const after = await listing(store, prefix);
  if (files === undefined || !isSame(before, after))
    throw new TransientError(`${prefix} changed during the read: the next try reads it again`);
  return packSource(files);
}

async function listing(store: ObjectStore, prefix: string): Promise<ListedObject[]> {
  const objects: ListedObject[] = [];
  for await (const object of store.list(prefix)) {
    if (belongsToSource(object.key.slice(prefix.length))) objects.push(object);
  }
  return objects;
}

const isSame = (before: readonly ListedObject[], after: readonly ListedObject[]): boolean =>
  before.length === after.length &&
  before.every(({ key, etag }, index) => after[index]?.key === key && after[index]?.etag === etag);

/** @returns undefined when an object changed after the listing */
async function readAll(
  store: ObjectStore,
  objects: readonly ListedObject[],
  prefix: string,
): Promise<ZipFile[] | undefined> {
  const files: ZipFile[] = [];
  const waiting = [...objects];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const stored = await store.readBytes(next.key);
      if (stored?.etag !== next.etag) return;
      files.push({ name: next.key.slice(prefix.length), bytes: stored.bytes });
    }
  };
  await Promise.all(Array.from({ length: Math.min(TOGETHER, objects.length) }, work));
  return files.length === objects.length ? files : undefined;
}
