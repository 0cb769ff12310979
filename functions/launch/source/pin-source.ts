/**
 * Pins the source of a run. The first launch packs it under the hash of its content, and all attempts use that archive. A
 * later change of the folder affects the next run only. The pin is safe to repeat after a death at any line and to run
 * concurrently: the archive precedes the note that names it, each is written only if missing, and the first note holds.
 */

import { createHash } from 'node:crypto';
import { bucketKeys, SOURCE_FILE, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import { entryPointOf } from '@tidewheel/declaration/pipeline.ts';
import {
  belongsToSource,
  type GitIdentity,
  gitIdentitySchema,
  gitNoteSchema,
  IN_CHECKPOINTS,
  sourceFingerprint,
} from '@tidewheel/declaration/script.ts';
import { LaunchRefusedError, RunNotFoundError, TransientError } from '@tidewheel/kit/errors.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import { eachLimited } from '@tidewheel/kit/limited.ts';
import type { ListedObject, ObjectStore } from '@tidewheel/kit/object-store.ts';
import { type ZipFile, zipOf } from '@tidewheel/kit/zip.ts';
import * as z from 'zod';
import type { RunRecord } from '../../records/run-records.ts';

const noteSchema = z.object({
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  /** Absent where no git was, and in notes of earlier releases. */
  git: gitIdentitySchema.optional().catch(undefined),
});

/** Its archive lies at `bucketKeys.packedSource(pipeline, digest)`. */
export type PinnedSource = Readonly<z.output<typeof noteSchema>>;

/**
 * @returns undefined for a source in another bucket, which only the job may read
 * @throws LaunchRefusedError with every problem of the folder
 */
export async function pinnedSourceOf(store: ObjectStore, run: RunRecord): Promise<PinnedSource | undefined> {
  const { pipeline, runId, declaration, source: asked } = run;
  if (declaration === undefined) throw new RunNotFoundError(runId);
  const { source, workingDirectory } = declaration.training;
  if (source.startsWith('s3://')) return undefined;
  const entryPoint = entryPointOf(declaration.training);
  const again = run.request?.again;
  return pinSource(store, { pipeline, runId, source, entryPoint, workingDirectory, asked, again });
}

interface SourceOfRun {
  readonly pipeline: string;
  readonly runId: string;
  /** `training.source`, below the pipeline's folder. */
  readonly source: string;
  /** Absent where a command stands in its place. */
  readonly entryPoint?: string | undefined;
  readonly workingDirectory?: string | undefined;
  /** The digest on the run's record: of an earlier attempt, or of the run that this one does again. */
  readonly asked?: string | undefined;
  /** The run that this one does again. */
  readonly again?: string | undefined;
}

async function pinSource(store: ObjectStore, run: SourceOfRun): Promise<PinnedSource> {
  const noted = (await noteOf(store, run)) ?? (await noteAsked(store, run));
  if (noted !== undefined && (await isThere(store, run.pipeline, noted.digest))) return noted;
  const packed = await packedFrom(store, run);
  if (noted !== undefined && noted.digest !== packed.digest) {
    throw new LaunchRefusedError(
      `the source of ${run.runId} (${noted.digest}) was deleted from ${bucketKeys.packedSource(run.pipeline, noted.digest)}, and ${run.source} has changed since: restore the earlier files, or start a new run`,
    );
  }
  // The check saves the upload for a run with the same code. Create-only, because another process may write it too.
  if (!(await isThere(store, run.pipeline, packed.digest)))
    await store.createBytes(
      bucketKeys.packedSource(run.pipeline, packed.digest) + SOURCE_FILE,
      packed.archive,
    );
  if (noted !== undefined) return noted;
  return noteFirst(store, run, { digest: packed.digest, git: packed.git });
}

async function noteOf(
  store: ObjectStore,
  { pipeline, runId }: Pick<SourceOfRun, 'pipeline' | 'runId'>,
): Promise<PinnedSource | undefined> {
  const stored = await store.readText(bucketKeys.pinnedSource(pipeline, runId));
  return stored === undefined ? undefined : noteSchema.parse(JSON.parse(stored.text));
}

/** From the note, if it is about these very objects. */
async function sentGitOf(
  store: ObjectStore,
  { pipeline, source }: SourceOfRun,
  all: readonly ListedObject[],
): Promise<GitIdentity | undefined> {
  const note = bucketKeys.gitNote(pipeline, source);
  if (!all.some(({ key }) => key === note)) return undefined;
  const stored = await store.readText(note);
  const { data } = gitNoteSchema.safeParse(parseJson(stored?.text ?? ''));
  const prefix = bucketKeys.sourceAt(pipeline, source);
  const files = sourceFingerprint(all.map(({ key, etag }) => ({ name: key.slice(prefix.length), etag })));
  return data?.files === files ? gitIdentitySchema.parse(data) : undefined;
}

/** Another process may have written the first note, from a folder that changed in between. */
async function noteFirst(store: ObjectStore, run: SourceOfRun, note: PinnedSource): Promise<PinnedSource> {
  await store.createText(bucketKeys.pinnedSource(run.pipeline, run.runId), JSON.stringify(note));
  return (await noteOf(store, run)) ?? note;
}

async function noteAsked(store: ObjectStore, run: SourceOfRun): Promise<PinnedSource | undefined> {
  if (run.asked === undefined) return undefined;
  const former =
    run.again === undefined ? undefined : await noteOf(store, { pipeline: run.pipeline, runId: run.again });
  const git = former?.digest === run.asked ? former.git : undefined;
  return noteFirst(store, run, { digest: run.asked, git });
}

export async function isThere(store: ObjectStore, pipeline: string, digest: string): Promise<boolean> {
  for await (const _ of store.list(bucketKeys.packedSource(pipeline, digest))) return true;
  return false;
}

const TOGETHER = 16;

async function packedFrom(
  store: ObjectStore,
  run: SourceOfRun,
): Promise<PackedSource & { readonly git: GitIdentity | undefined }> {
  const prefix = bucketKeys.sourceAt(run.pipeline, run.source);
  const all = await listing(store, prefix);
  const isSource = ({ key }: ListedObject): boolean => belongsToSource(key.slice(prefix.length));
  const before = all.filter(isSource);
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
  if (files === undefined || !isSame(before, (await listing(store, prefix)).filter(isSource)))
    throw new TransientError(`${prefix} changed during the read: the next try reads it again`);
  return { ...packSource(files), git: await sentGitOf(store, run, all) };
}

async function listing(store: ObjectStore, prefix: string): Promise<ListedObject[]> {
  const objects: ListedObject[] = [];
  for await (const object of store.list(prefix)) objects.push(object);
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
  await eachLimited(objects, TOGETHER, async ({ key, etag }) => {
    const stored = await store.readBytes(key);
    if (stored?.etag === etag) files.push({ name: key.slice(prefix.length), bytes: stored.bytes });
  });
  return files.length === objects.length ? files : undefined;
}

// The user's source as one archive: its objects, their problems, its bytes and its hash.

/** The whole source passes through the memory of one function. */
const LARGEST_SOURCE_BYTES = 64 * 1024 * 1024;
const MOST_SOURCE_FILES = 5_000;
/** Linux's limits for a name and for a path below /opt/ml/code. */
const LONGEST_NAME_BYTES = 255;
const LONGEST_PATH_BYTES = 1_024;
const MOST_NAMED = 5;

interface SourceEntry {
  /** Relative to the source's prefix. */
  readonly name: string;
  readonly size: number;
}

interface PackedSource {
  /** SHA-256 of the archive, in hex. */
  readonly digest: string;
  readonly archive: Buffer;
}

function packSource(files: readonly ZipFile[]): PackedSource {
  const archive = zipOf(files);
  return { digest: createHash('sha256').update(archive).digest('hex'), archive };
}

/**
 * All reasons why these objects cannot be the source, as messages. A key can hold any characters, so only a path below
 * the target folder is accepted.
 */
function packedSourceProblems(
  entries: readonly SourceEntry[],
  { where, entryPoint, workingDirectory }: SourcePlace,
): string[] {
  const names = new Set(entries.map(({ name }) => name));
  const problems = [...problemsOfNames(entries), ...problemsOfSize(entries)];
  if (names.size === 0)
    return [`no object lies under ${where}: put ${entryPoint ?? 'the code'} and what it needs there`];
  const some = [...names].slice(0, MOST_NAMED).map(shown).join(', ');
  if (entryPoint !== undefined && !names.has(entryPoint))
    problems.push(`${entryPoint} is not under ${where} (${some} …): put it there, or correct entryPoint`);
  if (!hasFolder(workingDirectory, names))
    problems.push(
      `${workingDirectory} is no folder under ${where} (${some} …): put it there, or correct workingDirectory`,
    );
  return problems;
}

const hasFolder = (workingDirectory: string | undefined, names: ReadonlySet<string>): boolean =>
  workingDirectory === undefined ||
  workingDirectory === IN_CHECKPOINTS ||
  [...names].some((name) => name.startsWith(`${workingDirectory}/`));

interface SourcePlace {
  /** The source's address for the messages. */
  readonly where: string;
  readonly entryPoint?: string | undefined;
  readonly workingDirectory?: string | undefined;
}

const shown = (name: string): string => JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);

function problemsOfSize(entries: readonly SourceEntry[]): string[] {
  const bytes = entries.reduce((sum, { size }) => sum + size, 0);
  const remedy = 'keep data and weights out of it, in channels of their own (training.channels)';
  const problems: string[] = [];
  if (entries.length > MOST_SOURCE_FILES)
    problems.push(
      `the source has ${entries.length} files, and the limit is ${MOST_SOURCE_FILES}: put packages into requirements.txt or an image, and ${remedy}`,
    );
  if (bytes > LARGEST_SOURCE_BYTES) {
    const largest = entries.toSorted((one, other) => other.size - one.size)[0];
    problems.push(
      `the source has ${bytes} bytes, and the limit is ${LARGEST_SOURCE_BYTES} (the largest file is ${shown(largest?.name ?? '')}): ${remedy}`,
    );
  }
  return problems;
}

function problemsOfNames(entries: readonly SourceEntry[]): string[] {
  const folders = new Set(entries.flatMap(({ name }) => foldersOf(name)));
  const bad = entries.flatMap(({ name }) => {
    const problem = problemOfName(name) ?? (folders.has(name) ? 'is a file and a folder' : undefined);
    return problem === undefined ? [] : [`${shown(name)} ${problem}`];
  });
  if (bad.length <= MOST_NAMED) return bad.map((one) => `${one}: rename it`);
  return [`${bad.slice(0, MOST_NAMED).join('; ')}; and ${bad.length - MOST_NAMED} more: rename them`];
}

function problemOfName(name: string): string | undefined {
  const parts = name.split('/');
  // A key with a leading or double slash has an empty part. As a path it would be absolute.
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return 'leads out of its folder';
  if (/\p{Cc}/u.test(name)) return 'holds control characters';
  if (Buffer.byteLength(name) > LONGEST_PATH_BYTES) return `is longer than ${LONGEST_PATH_BYTES} bytes`;
  if (parts.some((part) => Buffer.byteLength(part) > LONGEST_NAME_BYTES))
    return `has a part of more than ${LONGEST_NAME_BYTES} bytes, which is too long for a file name`;
  return undefined;
}

function foldersOf(name: string): string[] {
  const parts = name.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}
