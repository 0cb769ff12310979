/** The user's source as one archive: its objects, their problems, its bytes and its hash. */

import { createHash } from 'node:crypto';
import { IN_CHECKPOINTS } from '@tidewheel/declaration/script.ts';
import { type ZipFile, zipOf } from '@tidewheel/kit/zip.ts';

/** The whole source passes through the memory of one function. */
const LARGEST_SOURCE_BYTES = 64 * 1024 * 1024;
const MOST_SOURCE_FILES = 5_000;
/** Linux's limits for a name and for a path below /opt/ml/code. */
const LONGEST_NAME_BYTES = 255;
const LONGEST_PATH_BYTES = 1_024;
const MOST_NAMED = 5;

export interface SourceEntry {
  /** Relative to the source's prefix. */
  readonly name: string;
  readonly size: number;
}

export interface PackedSource {
  /** SHA-256 of the archive, in hex. */
  readonly digest: string;
  readonly archive: Buffer;
}

export function packSource(files: readonly ZipFile[]): PackedSource {
  const archive = zipOf(files);
  return { digest: createHash('sha256').update(archive).digest('hex'), archive };
}

/**
 * All reasons why these objects cannot be the source, as messages. A key can hold any characters, so only a path below
 * the target folder is accepted.
 */
export function packedSourceProblems(
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
  if (!isThere(workingDirectory, names))
    problems.push(
      `${workingDirectory} is no folder under ${where} (${some} …): put it there, or correct workingDirectory`,
    );
  return problems;
}

const isThere = (workingDirectory: string | undefined, names: ReadonlySet<string>): boolean =>
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
