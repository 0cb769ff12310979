/** Records how an attempt went on from its checkpoint, once on its record and once on the timeline. */

import type { Clock } from '@tidewheel/kit/clock.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { describeResume, readResume } from '../../../records/resume.ts';
import type { AttemptRecord } from '../../../records/run-records.ts';
import type { Stores } from '../../../records/stores.ts';

export interface WatchResumeDeps extends Pick<Stores, 'attempts' | 'timeline'> {
  readonly store: ObjectStore;
  readonly clock: Clock;
}

/** Safe to repeat: the agent's note grows with what it sees. */
export async function watchResume(deps: WatchResumeDeps, attempt: AttemptRecord): Promise<AttemptRecord> {
  const isSettled = attempt.resume?.verdict !== undefined && attempt.outcome === undefined;
  const resume = isSettled ? undefined : await readResume(deps.store, attempt);
  if (resume === undefined) return attempt;
  const at = deps.clock.now().toISOString();
  const { runId, attempt: number } = attempt;
  for (const [index, { name, problem, instead }] of resume.repairs.entries())
    await deps.timeline.add(runId, {
      id: `replaced-${number}-${index}`,
      at,
      kind: 'CheckpointReplaced',
      text: `attempt ${number}: ${name} is damaged (${problem}); it goes on from ${instead}`,
    });
  const text = describeResume(number, resume);
  if (text !== undefined)
    await deps.timeline.add(runId, {
      id: `resumed-${number}`,
      at,
      kind: resume.verdict?.kind === 'beganAgain' ? 'BeganAgain' : 'Resumed',
      text,
    });
  if (JSON.stringify(resume) === JSON.stringify(attempt.resume)) return attempt;
  return deps.attempts.update(runId, number, { resume, updatedAt: at });
}
