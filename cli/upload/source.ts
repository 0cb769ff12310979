/** Makes `<pipeline>/source/` equal to a folder of code, and notes the commit that the folder is at. */

import { execFile } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { GIT_NOTE } from '@tidewheel/contract/bucket-keys.ts';
import { type GitIdentity, gitIdentitySchema, sourceFingerprint } from '@tidewheel/declaration/script.ts';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { type BlobStore, listPages } from '@tidewheel/packing/store.ts';
import { bytesText } from '../../client/amounts.ts';
import { type FilesBelow, type LocalFile, sourceFilesBelow } from './local-files.ts';
import { etagOfBody } from './put-file.ts';

export interface SourceChanges {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** Each with the reason. */
  readonly leftOut: readonly string[];
}

interface SourceOptions {
  readonly folder: string;
  /** Absolute files and folders that lie beside the code there, by their last name. */
  readonly dependencies: readonly string[];
  /** Relative names that are no code: the data and the declaration. */
  readonly omit: readonly string[];
  /** Of the code in the bucket. */
  readonly prefix: string;
  /** Only say what would change. */
  readonly dryRun: boolean;
}

/** As docs/training.md has them. */
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_FILES = 5_000;

/** @throws UsageError where the folder is too large for a source, with its largest files */
export async function putSource(
  store: BlobStore,
  { folder, dependencies, omit, prefix, dryRun }: SourceOptions,
): Promise<SourceChanges> {
  const { files, skipped } = await codeOf(folder, dependencies, omit);
  refuseLarge(folder, files);
  const there = new Map<string, string>();
  for await (const { objects } of listPages(store, prefix))
    for (const { key, etag } of objects) there.set(key.slice(prefix.length), etag);
  const added: string[] = [];
  const changed: string[] = [];
  for (const { name, path: file } of files) {
    const body = await readFile(file);
    const etag = there.get(name);
    if (etag === etagOfBody(body)) continue;
    (etag === undefined ? added : changed).push(name);
    if (!dryRun) await store.put(prefix + name, body);
  }
  const names = new Set(files.map(({ name }) => name));
  const removed = [...there.keys()].filter((name) => !names.has(name) && name !== GIT_NOTE);
  if (!dryRun && removed.length > 0) await store.deleteMany(removed.map((name) => prefix + name));
  if (!dryRun) await noteGit(store, prefix, { folder, sent: files.map((file) => file.path), omit });
  return { added, changed, removed, leftOut: skipped.map(({ name, why }) => `${name} (${why})`) };
}

/** @throws UsageError where a dependency is missing, or has a name of the source */
async function codeOf(
  folder: string,
  dependencies: readonly string[],
  omit: readonly string[],
): Promise<FilesBelow> {
  const { files, skipped } = await sourceFilesBelow(folder, omit);
  const all = [...files];
  const left = [...skipped];
  const problems: string[] = [];
  for (const dependency of dependencies) {
    const name = basename(dependency);
    const found = await stat(dependency).catch(() => undefined);
    if (found === undefined) problems.push(`x-local.dependencies: there is no ${dependency}`);
    else if (all.some((file) => file.name === name || file.name.startsWith(`${name}/`)))
      problems.push(`x-local.dependencies: ${dependency} would lie where the source has ${name}: rename one`);
    else if (found.isFile()) all.push({ path: dependency, name, size: found.size, mtimeMs: found.mtimeMs });
    else {
      const below = await sourceFilesBelow(dependency);
      all.push(...below.files.map((file) => ({ ...file, name: `${name}/${file.name}` })));
      left.push(...below.skipped.map((file) => ({ ...file, name: `${name}/${file.name}` })));
    }
  }
  if (problems.length > 0) throw new UsageError(problems);
  return { files: all, skipped: left };
}

/** The note names the objects that it is about: with a changed one it counts as none. */
async function noteGit(
  store: BlobStore,
  prefix: string,
  folder: Parameters<typeof gitIdentityOf>[0],
): Promise<void> {
  const git = await gitIdentityOf(folder);
  const objects: { name: string; etag: string }[] = [];
  for await (const { objects: some } of listPages(store, prefix))
    objects.push(...some.map(({ key, etag }) => ({ name: key.slice(prefix.length), etag })));
  if (git !== undefined)
    await store.put(
      prefix + GIT_NOTE,
      Buffer.from(JSON.stringify({ ...git, files: sourceFingerprint(objects) })),
    );
  else if (objects.some(({ name }) => name === GIT_NOTE)) await store.deleteMany([prefix + GIT_NOTE]);
}

function refuseLarge(folder: string, files: readonly LocalFile[]): void {
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  if (bytes <= MOST_BYTES && files.length <= MOST_FILES) return;
  const largest = files
    .toSorted((a, b) => b.size - a.size)
    .slice(0, 3)
    .map(({ name, size }) => `${name} (${bytesText(size)})`);
  throw new UsageError([
    `the source ${folder} has ${files.length} files of ${bytesText(bytes)}, and may have ${MOST_FILES} of ${bytesText(MOST_BYTES)}: name a smaller folder as x-local.source, or the data as x-local.data. The largest are ${largest.join(', ')}`,
  ]);
}

const LIMIT = { timeout: 10_000, maxBuffer: 64 * 1024 * 1024 };
/** Reads take no lock, and start no program that the folder's own configuration names. */
const HARMLESS = ['--no-optional-locks', '-c', 'core.fsmonitor=false'];

interface Folder {
  readonly folder: string;
  /** Files that are sent, by their paths: dependencies may lie beside the folder. */
  readonly sent: readonly string[];
  /** What is no code, relative to the folder, with slashes. */
  readonly omit: readonly string[];
}

/** @returns undefined without git, a repository or a commit */
export async function gitIdentityOf({ folder, sent, omit }: Folder): Promise<GitIdentity | undefined> {
  const git = async (...words: string[]): Promise<string> =>
    (await promisify(execFile)('git', [...HARMLESS, '-C', folder, ...words], LIMIT)).stdout;
  try {
    const top = (await git('rev-parse', '--show-toplevel')).replace(/\n$/, '');
    const [commit, branch, tracked, changed] = await Promise.all([
      git('rev-parse', '--verify', 'HEAD'),
      git('branch', '--show-current'),
      git('-C', top, 'ls-files', '-z'),
      // Without external programs that may stand in for the comparison.
      git('-C', top, 'diff', '--no-ext-diff', '--no-textconv', '--name-only', '-z', 'HEAD', '--'),
    ]);
    const [known, others] = [tracked, changed].map(
      (names) => new Set(names.split('\0').flatMap((name) => (name === '' ? [] : [join(top, name)]))),
    );
    const files = sent.map((file) => join(realpathSync(dirname(file)), basename(file)));
    const [root, ...left] = ['', ...omit].map((name) => join(realpathSync(folder), name));
    const isIn = (file: string, place = ''): boolean => `${file}/`.startsWith(`${place.replace(/\/$/, '')}/`);
    const isGone = (file: string): boolean =>
      isIn(file, root) && !left.some((place) => isIn(file, place)) && !existsSync(file);
    const isDirty =
      files.some((file) => known?.has(file) !== true || others?.has(file) === true) ||
      [...(others ?? [])].some(isGone);
    return gitIdentitySchema.parse({
      commit: commit.trim(),
      ...(branch.trim() !== '' && { branch: branch.trim() }),
      isDirty,
    });
  } catch {
    return undefined;
  }
}
