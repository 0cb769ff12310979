/** Tells once of each stall of a running attempt's checkpoints: on the run's timeline and on the bus. */
import { intervalOf } from '../launch/job/checkpoint-interval.ts';
import type { TrainingJobDescription } from '../launch/job/training-service.ts';
import { readProgress } from '../runs/progress.ts';
import type { AttemptRecord } from '../runs/run-records.ts';
import type { ObjectStore } from '../shared/ports.ts';
import { checkpointStall } from './checkpoint-stall.ts';
import type { ObserveDeps } from './observe-attempt.ts';

/** @param job as it was just described */
export async function watchCheckpoints(
  deps: ObserveDeps & { readonly store: ObjectStore },
  attempt: AttemptRecord,
  job: TrainingJobDescription,
): Promise<void> {
  const trainingSince = trainingSinceOf(job);
  // Checkpoints of another region come home when the attempt ends.
  if (trainingSince === undefined || attempt.placement.pool.region !== undefined) return;
  const { runId, pipeline, jobName } = attempt;
  const earlier = (await deps.attempts.list(runId)).filter((each) => each.attempt < attempt.attempt);
  const stall = checkpointStall({
    trainingSince,
    progress: await readProgress(deps.store, pipeline, runId),
    intervalSeconds: intervalOf(attempt, earlier),
    now: deps.clock.now(),
  });
  if (stall === undefined) return;
  const id = `stalled-${attempt.attempt}-${stall.step}`;
  // CampaignView at every few minutes, told once for each checkpoint that has none after it.
  if ((await deps.timeline.list(runId)).some((entry) => entry.id === id)) return;
  await deps.notifier.notify(
    { runId, pipeline },
    { type: 'CheckpointStalled', attempt: attempt.attempt, jobName, ...stall },
  );
  await deps.timeline.add(runId, {
    id,
    at: deps.clock.now().toISOString(),
    kind: 'CheckpointStalled',
    text: `attempt ${attempt.attempt}: no checkpoint has reached the bucket for ${stall.ageSeconds} s (step ${stall.step} is safe, one is expected every ${stall.expectedSeconds} s): what was trained since then is lost if capacity is taken away now`,
  });
}

/** The start of the status that it is in, if that is Training. */
function trainingSinceOf({
  SecondaryStatus,
  SecondaryStatusTransitions,
}: TrainingJobDescription): Date | undefined {
  if (SecondaryStatus !== 'Training') return undefined;
  return SecondaryStatusTransitions.findLast(({ Status }) => Status === 'Training')?.StartTime;
}
