/**
 * Large folders are not listed for each run. `on-arrival` notes the keys of every notification, and a run lists only
 * around them. The whole folder is listed once a day, because a notification may be lost.
 */

import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { NotifiedFolder, PipelineRecord } from '../../records/batches.ts';
import type { RunRecord } from '../../records/run-records.ts';

/** Up to this many objects are listed for $0.0005, an hourly look costs $0.36 a month. */
export const FEW_OBJECTS = 100_000;

/** Between two listings of the whole folder at least. */
export const WHOLE_LISTING_SECONDS = 24 * 3_600;

/** Whether the run lists only around what was notified of. A person or a schedule looks at the whole folder. */
export function listsNotified(
  { notified }: Pick<PipelineRecord, 'notified'>,
  { trigger }: Pick<RunRecord, 'trigger'>,
  { declaration, now }: { readonly declaration: Pipeline; readonly now: Date },
): boolean {
  if (notified === undefined || trigger !== 'arrival' || !mayBeNoted(declaration)) return false;
  return now.getTime() - Date.parse(notified.listedAt) < WHOLE_LISTING_SECONDS * 1_000;
}

interface FolderClose {
  readonly declaration: Pipeline;
  /** How many lay in the folder; undefined where it was not listed. */
  readonly objects: number | undefined;
  readonly at: string;
}

/** What a close leaves; undefined for a folder that is cheap to list. */
export function notifiedAfterClose(
  before: NotifiedFolder | undefined,
  { declaration, objects, at }: FolderClose,
): NotifiedFolder | undefined {
  if (objects === undefined) return before && { ...before, closedAt: at };
  if (objects <= FEW_OBJECTS || !mayBeNoted(declaration)) return undefined;
  return { since: before?.since ?? at, listedAt: at };
}

/**
 * The batch of a marker holds all that was written before it, notified of or not. A file of annotations changes the labels
 * of every arrival. Archives are looked for among all arrivals.
 */
const mayBeNoted = ({ settle, packing }: Pipeline): boolean =>
  settle.marker === undefined && packing.annotations === undefined && packing.archives !== 'unpack';
