/** What `tidewheel data verify` says of retracted objects. */

import type { Manifest } from '@tidewheel/packing/dataset.ts';
import type { RetractedMember, RetractedObjects, RetractionReport } from '@tidewheel/packing/maintain.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import { counted } from '../command/format.ts';
import { type PrintLine, shownSampleKey } from './words.ts';

export interface RetractedKeys {
  /** In a generation that a joined one replaced, until a prune. */
  readonly untilPruned: readonly string[];
  /** The same bytes under other keys. */
  readonly otherKeys: readonly string[];
  /** Only their ETags could be compared. */
  readonly unknown: readonly string[];
}

const KEYS_SHOWN = 5;
const keysOf = (members: readonly RetractedMember[]): string[] => [...new Set(members.map(({ key }) => key))];

/** Undefined where there are none. */
export function retractedKeys(report: RetractionReport | undefined): RetractedKeys | undefined {
  if (report === undefined) return undefined;
  const { replaced, others, unknown } = report;
  if (replaced.length + others.length + unknown.length === 0) return undefined;
  return { untilPruned: keysOf(replaced), otherKeys: keysOf(others), unknown };
}

function shown(pipeline: string, keys: readonly string[]): string {
  const some = keys.slice(0, KEYS_SHOWN).map((key) => shownSampleKey(pipeline, key));
  const more = keys.length - some.length;
  return `${some.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

export function describeRetractions(
  report: RetractionReport | undefined,
  { bucket }: Pick<BlobStore, 'bucket'>,
  { pipeline }: Manifest,
): string[] {
  const keys = retractedKeys(report);
  if (keys === undefined) return [];
  const { untilPruned, otherKeys, unknown } = keys;
  const prune = `tidewheel data prune s3://${bucket}/${pipeline} --replaced`;
  return [
    ...(untilPruned.length === 0
      ? []
      : [`its shards hold retracted objects until ${prune}: ${shown(pipeline, untilPruned)}`]),
    ...(otherKeys.length === 0
      ? []
      : [
          `other keys have retracted bytes, so retract these too where the bytes must go: ${shown(pipeline, otherKeys)}`,
        ]),
    ...(unknown.length === 0
      ? []
      : [`of retracted keys, only the ETag could be compared, and it differs: ${shown(pipeline, unknown)}`]),
  ];
}

/** A line for the whole dataset, where anything was retracted. */
export function tellRetracted(
  { count, withoutSum, unread }: RetractedObjects,
  verified: readonly { readonly problems: readonly string[] }[],
  tell: PrintLine,
): void {
  for (const problem of unread) tell(`more may have been retracted: ${problem}`);
  if (count === 0 || verified.some(({ problems }) => problems.length > 0)) return;
  const rest = withoutSum === 0 ? '' : `; of ${withoutSum} only the ETag is known`;
  tell(`${counted(count, 'retracted object')}: no shard of the dataset holds the bytes under the key${rest}`);
}
