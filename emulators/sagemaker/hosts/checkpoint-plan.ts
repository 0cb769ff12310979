/** What one pass of the checkpoint sync has to do. Pure. */
import { DOCUMENT_FILES } from '@tidewheel/contract/files.ts';

/** A file as one look at the folder found it. */
export interface SeenFile {
  /** Relative to the checkpoint folder, with forward slashes. */
  readonly path: string;
  readonly size: number;
  readonly modifiedNs: bigint;
  /** When the file got its content or its name, whichever was later. */
  readonly changedNs: bigint;
  readonly inode: bigint;
}

/** What S3 holds of a host, as far as the host has put it there or taken it from there. */
export type SyncedFiles = ReadonlyMap<string, SeenFile>;

export interface SyncPass {
  /** In the order in which they were written: what was written last (a marker) arrives last. */
  readonly uploads: readonly SeenFile[];
  /** A deleted file has a successor, which must be in S3 first. */
  readonly deletions: readonly string[];
  /** Files that were not there; they are deleted if the next look misses them too. */
  readonly missing: ReadonlySet<string>;
}

export interface SeenFolder {
  readonly files: readonly SeenFile[];
  /**
   * Files younger than this wait for the next pass. A look takes time: it may see a marker and have missed, in a folder
   * that it had read before, the data that was written before the marker. Nothing older than the look's beginning
   * can be missed so. undefined once writing has ended.
   */
  readonly settledBeforeNs: bigint | undefined;
}

export function planPass(look: SeenFolder, synced: SyncedFiles, missedBefore: ReadonlySet<string>): SyncPass {
  const present = new Set(look.files.map((file) => file.path));
  const { settledBeforeNs } = look;
  const differing = look.files.filter((file) => !isSame(file, synced.get(file.path)));
  const uploads = differing
    .filter((file) => settledBeforeNs === undefined || file.changedNs < settledBeforeNs)
    .toSorted(byAge);
  const gone = [...synced.keys()].filter((path) => !present.has(path));
  // A file that moved while the look went round can be missed once under both names.
  const isSure = (path: string): boolean => settledBeforeNs === undefined || missedBefore.has(path);
  // What S3 lacks after this pass may be the successor, such as a marker that names other files.
  const deletions = uploads.length === differing.length ? gone.filter(isSure) : [];
  return { uploads, deletions, missing: new Set(gone) };
}

export const isSame = (file: SeenFile, other: SeenFile | undefined): boolean =>
  other !== undefined &&
  file.size === other.size &&
  file.modifiedNs === other.modifiedNs &&
  file.inode === other.inode;

function byAge(left: SeenFile, right: SeenFile): number {
  if (left.changedNs !== right.changedNs) return left.changedNs < right.changedNs ? -1 : 1;
  return left.path < right.path ? -1 : 1;
}

/**
 * In a job with the agent only its progress note shows a checkpoint, because the agent writes its measurements earlier.
 * Without the agent every file counts.
 */
export function checkpointIn(files: readonly SeenFile[]): (file: SeenFile) => boolean {
  const hasAgent = files.some(({ path }) => path.startsWith('tidewheel-'));
  return ({ path }) => !hasAgent || path === DOCUMENT_FILES.progress;
}
