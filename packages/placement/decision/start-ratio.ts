/** How much longer starts take than expected, from those of the run. */

import { launcherFacts } from '@tidewheel/catalog/launchers.ts';
import type { AttemptOutcome, PlacedAttempt } from '../records/attempts.ts';
import type { Placement } from '../records/placement-records.ts';

/** Seconds in which each host of a start there downloads its shards. */
export type DownloadSeconds = (placement: Pick<Placement, 'pool' | 'topology'>) => number;

/** A loss of the platform's own, such as a host without S3, says nothing of the next start. */
const TELLING: ReadonlySet<AttemptOutcome['kind']> = new Set([
  'completed',
  'interrupted',
  'recalled',
  'timeLimit',
]);

/**
 * The median over the starts of the run, until their script began. A start that was lost before takes at least as long
 * as it lived, which says something only where that is longer than expected.
 */
export function startRatioOf(attempts: readonly PlacedAttempt[], downloadSeconds: DownloadSeconds): number {
  const ratios = attempts.flatMap(({ launcher, placement, outcome }) => {
    if (outcome === undefined || !TELLING.has(outcome.kind)) return [];
    const { scriptStartedAt, endedBeforeScript, startedAt, trainingSeconds } = outcome;
    const expected = launcherFacts[launcher].restartSeconds + downloadSeconds(placement);
    if (endedBeforeScript) return trainingSeconds > expected ? [trainingSeconds / expected] : [];
    const seconds = (Date.parse(scriptStartedAt ?? '') - Date.parse(startedAt ?? '')) / 1_000;
    return seconds >= 0 ? [seconds / expected] : [];
  });
  return lowerMedian(ratios) ?? 1;
}

export function lowerMedian(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}
