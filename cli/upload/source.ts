/** Makes `<pipeline>/source/` equal to a folder of code. */

import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { GIT_NOTE } from '@tidewheel/contract/bucket-keys.ts';
import { sourceFingerprint } from '@tidewheel/declaration/script.ts';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { type BlobStore, listPages } from '@tidewheel/packing/store.ts';
import { bytesText } from '../../client/amounts.ts';
import { gitIdentityOf } from './git-identity.ts';
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
  for (const { name, path } of files) {
    const body = await readFile(path);
    const etag = there.get(name);
    if (etag === etagOfBody(body)) continue;
    (etag === undefined ? added : changed).push(name);
    if (!dryRun) await store.put(prefix + name, body);
  }
  const names = new Set(files.map(({ name }) => name));
  const removed = [...there.keys()].filter((name) => !names.has(name) && name !== GIT_NOTE);
  if (!dryRun && removed.length > 0) await store.deleteMany(removed.map((name) => prefix + name));
  if (!dryRun) await noteGit(store, prefix, { folder, sent: [...names], omit });
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

/** The note names the objects that it is about: whoever changes one makes it void. */
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
