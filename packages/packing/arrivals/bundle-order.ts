/** Which files fill bundles, and in which order. */

import { hash } from 'node:crypto';
import { namesOf, SPLITS } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { splitKey } from '../documents/member-names.ts';
import { compareKeys } from '../documents/order.ts';

/**
 * At random, the same each time. The files of a sample stay beside each other.
 * @param shuffle false: in the order of keys
 */
export function inBundleOrder<File>(
  files: readonly File[],
  keyOf: (file: File) => string,
  shuffle: boolean,
): readonly File[] {
  return files
    .map((file) => ({ file, key: keyOf(file) }))
    .map(({ file, key }) => ({
      file,
      key,
      at: shuffle ? hash('sha256', splitKey(key).stem).slice(0, 16) : '',
    }))
    .toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : compareKeys(a.key, b.key)))
    .map(({ file }) => file);
}

/** Keys below incoming/ of files that packing reads as objects of their own. */
export const keysApart = ({
  annotations,
  split,
}: Pick<PackingSettings, 'annotations' | 'split'>): readonly string[] => [
  ...(annotations === undefined ? [] : [annotations.file]),
  ...(split?.by === 'list' ? SPLITS.flatMap((name) => namesOf(split, name)) : []),
];
