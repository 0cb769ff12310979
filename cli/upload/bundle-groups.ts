/** Which files of a folder go into which bundle. It follows from the whole folder, so a drop that goes on makes the same bundles. */
import { hash } from 'node:crypto';
import { isAllowed } from '../../functions/core/packing/arrivals/bundle-index.ts';
import { MOST_MEMBER_BYTES } from '../../functions/core/packing/arrivals/bundle-place.ts';
import { splitKey } from '../../functions/core/packing/model/member-names.ts';
import { compareKeys } from '../../functions/core/packing/model/order.ts';
import type { LocalFile } from './files.ts';

/** One PUT sends so much, and it lies in memory meanwhile. */
export const BUNDLE_BYTES = 64 * 1024 * 1024;
/** A million empty files must not become one index. */
const BUNDLE_FILES = 100_000;

export interface Grouping {
  /** `<pipeline>/incoming/` */
  readonly prefix: string;
  /** Names that the service looks for as objects of their own: the marker, the file of annotations. */
  readonly apart: readonly (string | undefined)[];
  /** Shards are filled at random, so bundles are too: a request then reads what lies beside each other in a shard. */
  readonly shuffle: boolean;
  readonly bundleBytes?: number;
}

export interface Groups {
  readonly bundles: readonly (readonly LocalFile[])[];
  /** Large files, and those that no bundle may hold. */
  readonly plain: readonly LocalFile[];
}

export function groupFiles(files: readonly LocalFile[], grouping: Grouping): Groups {
  const prefixBytes = Buffer.byteLength(grouping.prefix);
  const small: LocalFile[] = [];
  const plain: LocalFile[] = [];
  for (const file of files) {
    const isSmall = file.size <= MOST_MEMBER_BYTES && isAllowed(file.name, prefixBytes);
    (isSmall && !grouping.apart.includes(file.name) ? small : plain).push(file);
  }
  const bundles: LocalFile[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const file of inOrder(small, grouping.shuffle)) {
    if (bytes + file.size > (grouping.bundleBytes ?? BUNDLE_BYTES) || isFull(bundles.at(-1))) {
      bundles.push([]);
      bytes = 0;
    }
    bundles.at(-1)?.push(file);
    bytes += file.size;
  }
  return { bundles, plain };
}

const isFull = (bundle: readonly LocalFile[] | undefined): boolean => (bundle?.length ?? 0) >= BUNDLE_FILES;

/** The files of a sample stay beside each other. */
function inOrder(files: readonly LocalFile[], shuffle: boolean): readonly LocalFile[] {
  if (!shuffle) return files.toSorted((a, b) => compareKeys(a.name, b.name));
  return files
    .map((file) => ({ file, at: hash('sha256', splitKey(file.name).stem).slice(0, 16) }))
    .toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : compareKeys(a.file.name, b.file.name)))
    .map(({ file }) => file);
}
