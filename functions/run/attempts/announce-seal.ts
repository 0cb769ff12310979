/** Records a seal with the run and announces it on the timeline and the event bus. Safe to repeat. */

import { belowIncoming } from '@tidewheel/contract/bucket-keys.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { shownKey } from '@tidewheel/kit/quoted.ts';
import type { Dots } from '@tidewheel/packing/dataset.ts';
import type { SealResult } from '@tidewheel/packing/seal.ts';
import type { Notifier } from '../../records/ports.ts';
import type { Stores } from '../../records/stores.ts';

export interface AnnounceDeps extends Pick<Stores, 'runs' | 'timeline'> {
  readonly notifier: Notifier;
  readonly clock: Clock;
}

export async function announceSeal<Sealed extends SealResult>(
  deps: AnnounceDeps,
  run: { readonly runId: string; readonly pipeline: string },
  result: Sealed,
): Promise<Sealed> {
  const { generation, samples, shards, isUnpacked, rejected, rejections } = result;
  const isSealed = shards > 0 || (isUnpacked && samples > 0);
  const others = otherTexts(run.pipeline, result);
  const at = deps.clock.now().toISOString();
  if (!isSealed && rejected === 0) {
    const text = others.join(', ');
    if (text !== '') await deps.timeline.add(run.runId, { id: 'left', at, kind: kindOf(result), text });
    return result;
  }
  const before = await deps.runs.get(run.runId);
  await deps.runs.update(run.runId, {
    sealedAt: before?.sealedAt ?? at,
    ...(isSealed && { generation }),
    ...(rejected > 0 && { rejected: { count: rejected, ...rejections } }),
    updatedAt: at,
  });
  await deps.timeline.add(run.runId, {
    id: 'sealed',
    at,
    kind: isSealed ? 'DatasetSealed' : 'AllRejected',
    text: [sealedText(result), ...rejectedTexts(run.pipeline, result), ...others].join(', '),
  });
  if (isSealed)
    await deps.notifier.notify(run, { type: 'DatasetSealed', generation, samples, shards, rejected });
  return result;
}

const sealedText = ({ samples, shards, isUnpacked }: SealResult): string =>
  isUnpacked
    ? `${samples} file${samples === 1 ? '' : 's'}`
    : `${samples} samples in ${shards} shard${shards === 1 ? '' : 's'}`;

const rejectedTexts = (pipeline: string, result: SealResult): readonly string[] =>
  [result.rejected > 0 ? rejectedText(pipeline, result) : undefined, learntText(result)].filter(
    (text) => text !== undefined,
  );

const otherTexts = (pipeline: string, result: SealResult): readonly string[] =>
  [
    unchangedText(result),
    removedText(result),
    ignoredText(result),
    leftText(pipeline, result.left),
    ...dotsTexts(result.dots),
    rowsText(pipeline, result),
  ].filter((text) => text !== undefined);

function kindOf({ left, removed }: SealResult): string {
  if (removed > 0) return 'ArrivalsRemoved';
  return left.objects > 0 ? 'ArrivalsLeft' : 'ArrivalsUnchanged';
}

function unchangedText({ unchanged, isUnpacked }: SealResult): string | undefined {
  if (unchanged === 0) return undefined;
  return isUnpacked
    ? `${unchanged} as before`
    : `${unchanged} with the same bytes as before, under another ETag`;
}

const removedText = ({ removed }: SealResult): string | undefined =>
  removed === 0
    ? undefined
    : `${removed} packed before and deleted since, so their samples leave the dataset`;

const ignoredText = ({ ignored }: SealResult): string | undefined =>
  ignored === 0 ? undefined : `${ignored} ignored, because systems and tools leave such files`;

const learntText = ({ learnt = [] }: SealResult): string | undefined =>
  learnt.length === 0 ? undefined : `each sample must have ${learnt.join(' and ')} (learnt)`;

/** With an object without a row beside it, where there is one: often the folder or the suffix is all that differs. */
function rowsText(pipeline: string, { unknownRows, rejections }: SealResult): string | undefined {
  if (unknownRows === undefined) return undefined;
  const { rows, of, example } = unknownRows;
  const without = rejections.examples.find(({ reason }) => reason === 'labelMissing')?.key;
  const beside =
    without === undefined ? '' : `, while ${shownKey(belowIncoming(pipeline, without))} has no row`;
  return `${rows} of ${of} rows of annotations name no object, such as ${shownKey(example)}${beside} (packing.annotations.folder and prefix say what rows leave out)`;
}

/** Dots join files to a sample or keep them apart, which their owner may not expect. */
function dotsTexts({ joined, named }: Dots = {}): string[] {
  const counted = (dotted: Dots['named'], how: string): string[] =>
    dotted === undefined ? [] : [`${dotted.objects} ${how} such as ${shownKey(dotted.example)}`];
  return [
    ...counted(joined, 'joined to samples by a word between dots (packing.innerSuffixes lists those words),'),
    ...counted(named, 'with dots that stay in the name (packing.innerSuffixes lists words that join),'),
  ];
}

/** Such as `2 left for a later run: a.jpg (unreadable, AccessDenied)`. */
function leftText(pipeline: string, { objects, byReason, examples }: SealResult['left']): string | undefined {
  if (objects === 0) return undefined;
  const shown = examples
    .slice(0, EXAMPLES_SHOWN)
    .map(
      ({ key, reason, code, since }) =>
        `${shownKey(belowIncoming(pipeline, key))} (${[reason, code, since && `since ${since}`].filter(Boolean).join(', ')})`,
    );
  const counts = Object.entries(byReason).map(([reason, count]) => `${count} ${reason}`);
  const more = objects > shown.length && counts.length > 0 ? `; in all ${counts.join(', ')}` : '';
  return `${objects} left for a later run${shown.length === 0 ? '' : `: ${shown.join(', ')}`}${more}`;
}

const EXAMPLES_SHOWN = 3;

/** Such as `1 rejected: notes.txt (suffixNotAccepted)`. Several reasons are counted. */
function rejectedText(
  pipeline: string,
  { rejected, rejections }: Pick<SealResult, 'rejected' | 'rejections'>,
): string {
  const shown = rejections.examples
    .slice(0, EXAMPLES_SHOWN)
    .map(({ key, reason }) => `${shownKey(belowIncoming(pipeline, key))} (${reason})`);
  const more = rejected - shown.length;
  const list = [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join(', ');
  const reasons = Object.entries(rejections.byReason).sort(([a], [b]) => (a < b ? -1 : 1));
  const counts =
    more > 0 && reasons.length > 1
      ? `; in all ${reasons.map(([reason, count]) => `${count} ${reason}`).join(', ')}`
      : '';
  return `${rejected} rejected${list === '' ? '' : `: ${list}${counts}`}`;
}
