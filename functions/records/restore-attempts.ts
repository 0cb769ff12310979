/** Attempts whose records were lost come back from their copies, so that attempts are numbered on and all costs count. */

import type { Clock } from '@tidewheel/kit/clock.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { keptAttempts } from './kept-records.ts';
import type { AttemptRecord, RunRecord } from './run-records.ts';
import type { Stores } from './stores.ts';

export interface RestoreDeps extends Pick<Stores, 'attempts' | 'timeline'> {
  readonly store: ObjectStore;
  readonly clock: Clock;
}

/** @returns all attempts of the run, oldest first */
export async function restoreAttempts(
  deps: RestoreDeps,
  run: Pick<RunRecord, 'runId' | 'pipeline'>,
): Promise<AttemptRecord[]> {
  const known = await deps.attempts.list(run.runId);
  const at = deps.clock.now().toISOString();
  const except = new Set(known.map(({ attempt }) => attempt));
  const lost = await keptAttempts(deps.store, run, { at, except });
  if (lost.length === 0) return known;
  for (const attempt of lost) await deps.attempts.create(attempt);
  await deps.timeline.add(run.runId, {
    id: `restored-${at}`,
    at,
    kind: 'RecordsRestored',
    text: `the table had lost ${lost.map(({ attempt }) => `attempt ${attempt}`).join(', ')}; the run continues from the copies in the bucket`,
  });
  return deps.attempts.list(run.runId);
}
