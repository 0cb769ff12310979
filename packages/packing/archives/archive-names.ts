/** What archives would bring that no bucket has yet, by their lists of files. */

import { messageOf } from '@tidewheel/kit/errors.ts';
import type { BlobReader } from '../documents/blob-store.ts';
import { isArchive, unpackedKind } from '../documents/member-names.ts';
import { ARCHIVE_BOUNDS, UNPACKED_KINDS } from './archive-bounds.ts';
import { ArchiveBytes } from './archive-bytes.ts';
import { archiveEntries } from './archive-entries.ts';
import { MemberNames } from './archive-members.ts';

/** They are read in a minute. */
const MOST_READ_BYTES = 2e9;

interface LocalFile {
  /** Relative to the folder of the data, with slashes. */
  readonly key: string;
  readonly size: number;
}

export interface UnpackedFiles {
  /** With those of the archives in place of each. */
  readonly files: readonly LocalFile[];
  /** Keys of the archives. */
  readonly archives: readonly string[];
  /** What is wrong with others, in sentences. */
  readonly problems: readonly string[];
}

/** A tar has no list, so that all of it is read. */
export async function unpackedFiles(store: BlobReader, files: readonly LocalFile[]): Promise<UnpackedFiles> {
  const [all, archives, problems]: [LocalFile[], string[], string[]] = [[], [], []];
  for (const file of files) {
    const kind = unpackedKind(file.key);
    if (kind === undefined) {
      if (isArchive(file.key)) problems.push(`${JSON.stringify(file.key)} is refused: ${UNPACKED_KINDS}`);
      else all.push(file);
      continue;
    }
    if (kind !== 'zip' && file.size > MOST_READ_BYTES) {
      archives.push(file.key);
      problems.push(
        `${JSON.stringify(file.key)} is too large to be looked into: say how its files are labelled`,
      );
      continue;
    }
    try {
      all.push(...(await filesOf(store, file, kind)));
      archives.push(file.key);
    } catch (error: unknown) {
      problems.push(`${JSON.stringify(file.key)} would not be unpacked: ${messageOf(error)}`);
    }
  }
  return { files: all, archives, problems };
}

async function filesOf(
  store: BlobReader,
  { key, size }: LocalFile,
  kind: NonNullable<ReturnType<typeof unpackedKind>>,
): Promise<readonly LocalFile[]> {
  const names = new MemberNames({ archive: key, prefixBytes: 0, depth: ARCHIVE_BOUNDS.depth, apart: [] });
  const found: LocalFile[] = [];
  const bytes = new ArchiveBytes(store, { key, etag: '', size, lastModified: '' });
  for await (const entry of archiveEntries(bytes, kind)) {
    found.push({ key: names.take(entry), size: entry.size });
    if (kind !== 'zip') for await (const chunk of entry.chunks) void chunk;
  }
  return found;
}
