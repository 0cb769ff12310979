/** Where a file of the drop folder goes, or why it goes nowhere. */
import { sep } from 'node:path';
import { bucketKeys } from '../../functions/core/shared/keys.ts';
import { whyNoName } from './strays.ts';

export type DropTarget =
  | { readonly kind: 'data'; readonly key: string }
  /** `place` is the file or the folder that cannot be taken. */
  | { readonly kind: 'ignored'; readonly place: string; readonly remedy: string };

/** @param path relative to the drop folder */
export function dropTarget(path: string): DropTarget {
  const [folder = '', ...rest] = path.split(sep);
  if (rest.length === 0)
    return {
      kind: 'ignored',
      place: `drop/${folder}`,
      remedy: 'it belongs to no pipeline; move it to drop/<pipeline>/',
    };
  const reason = whyNoName(folder);
  if (reason !== undefined) return { kind: 'ignored', place: `drop/${folder}/`, remedy: reason };
  return { kind: 'data', key: bucketKeys.incoming(folder) + rest.join('/') };
}
