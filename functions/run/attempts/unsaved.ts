/** The training that no checkpoint covers yet. Pure. */

import type { Progress } from '@tidewheel/placement/records.ts';
import type { AttemptRecord } from '../../records/run-records.ts';
import { gangHourlyUsd } from './stop-rules.ts';

/** Whether an attempt trains now. */
export const isUp = ({ outcome, status }: Pick<AttemptRecord, 'outcome' | 'status'>): boolean =>
  outcome === undefined && status === 'running';

/** What a script that saves nothing at a stop loses. `afterSave` leaves it 120 seconds to save. */
export interface UnsavedWork {
  /** Since the newest checkpoint, or since the hosts were there. */
  readonly seconds: number;
  readonly usd: number;
  /** Of the newest checkpoint. */
  readonly step?: number | undefined;
}

/** @returns undefined while the attempt does not train */
export function unsavedWork(
  attempt: AttemptRecord,
  progress: Progress | undefined,
  now: Date,
): UnsavedWork | undefined {
  if (!isUp(attempt)) return undefined;
  const begun = Date.parse(attempt.startedAt ?? attempt.createdAt);
  const saved = Date.parse(progress?.updatedAt ?? '') || begun;
  const seconds = Math.round(Math.max(0, now.getTime() - Math.max(begun, saved)) / 1_000);
  return { seconds, usd: (gangHourlyUsd(attempt.placement) * seconds) / 3_600, step: progress?.step };
}
