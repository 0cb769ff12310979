/** Announces once what a look at a running attempt finds: stalled checkpoints, a hanging script. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { readDocument, valueOf } from '@tidewheel/contract/document.ts';
import { namePartsOf } from '@tidewheel/contract/files.ts';
import { hangNote } from '@tidewheel/contract/hangs.ts';
import { progressNote } from '@tidewheel/contract/progress.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import type { Progress } from '@tidewheel/placement/records.ts';
import { intervalOf } from '../../launch/job/checkpoint-interval.ts';
import type { TrainingJobDescription } from '../../launch/job/training-service.ts';
import { readHostFiles } from '../../records/host-files.ts';
import type { Notifier } from '../../records/ports.ts';
import { newerNoteVersion, readProgress } from '../../records/progress.ts';
import type { AttemptRecord } from '../../records/run-records.ts';
import type { Stores } from '../../records/stores.ts';
import { finishedNoteOf } from '../models/kept-scores.ts';

/** What the watches of a running attempt read, and where they announce what they find. */
export interface WatchDeps extends Pick<Stores, 'attempts' | 'timeline'> {
  readonly store: ObjectStore;
  readonly notifier: Notifier;
  readonly clock: Clock;
}

/** Start of the current status, if that is Training. */
export function trainingSinceOf({
  TrainingJobStatus,
  SecondaryStatus,
  SecondaryStatusTransitions,
}: TrainingJobDescription): Date | undefined {
  if (TrainingJobStatus !== 'InProgress' || SecondaryStatus !== 'Training') return undefined;
  return SecondaryStatusTransitions.findLast(({ Status }) => Status === 'Training')?.StartTime;
}

/** @param job a fresh description */
export async function watchCheckpoints(
  deps: WatchDeps,
  attempt: AttemptRecord,
  job: TrainingJobDescription,
): Promise<void> {
  const trainingSince = trainingSinceOf(job);
  // Checkpoints of another region are copied home when the attempt ends.
  if (trainingSince === undefined || attempt.placement.pool.region !== undefined) return;
  const { runId, pipeline, jobName } = attempt;
  const earlier = (await deps.attempts.list(runId)).filter((each) => each.attempt < attempt.attempt);
  const progress = await readProgress(deps.store, pipeline, runId);
  if (progress === undefined) await tellNewer(deps, attempt);
  const now = deps.clock.now();
  const stall = checkpointStall(trainingSince, progress, intervalOf(attempt, earlier), now);
  if (stall === undefined) return;
  // An evaluation saves nothing.
  if ((await finishedNoteOf(deps.store, attempt, attempt.attempt)) !== undefined) return;
  const id = `stalled-${attempt.attempt}-${stall.step}`;
  // The look repeats every few minutes, but each stall is announced once.
  if ((await deps.timeline.list(runId)).some((entry) => entry.id === id)) return;
  await deps.notifier.notify(
    { runId, pipeline },
    { type: 'CheckpointStalled', attempt: attempt.attempt, jobName, ...stall },
  );
  await deps.timeline.add(runId, {
    id,
    at: now.toISOString(),
    kind: 'CheckpointStalled',
    text: `attempt ${attempt.attempt}: no checkpoint has reached the bucket for ${stall.ageSeconds} s (step ${stall.step} is safe, one is expected every ${stall.expectedSeconds} s): training since then is lost if AWS reclaims the capacity now`,
  });
}

/** After a deployment of an earlier release the agents of the later one still train. */
async function tellNewer(deps: WatchDeps, { runId, pipeline, attempt }: AttemptRecord): Promise<void> {
  const version = await newerNoteVersion(deps.store, pipeline, runId);
  if (version === undefined) return;
  await deps.timeline.add(runId, {
    id: `newer-note-${attempt}`,
    at: deps.clock.now().toISOString(),
    kind: 'NewerNote',
    text: `attempt ${attempt}: its agent writes version ${version} of the progress note, and this deployment reads up to ${progressNote.version}: none of its checkpoints count until the later release is deployed again`,
  });
}

/** A checkpoint waits for the end of a step, a save and an upload. Big ones take minutes. */
const LEAST_PATIENCE_SECONDS = 900;
const PATIENCE_INTERVALS = 3;
/** The time to the first checkpoint of a new script is unknown. The agent's stall_watch.py has the same. */
const FIRST_PATIENCE_SECONDS = 1_800;

/**
 * Unnoticed stalls have cost users days of training. The progress note in the bucket decides, so a save that does not reach
 * the bucket does not count.
 * @param trainingSince start of uninterrupted training
 * @param progress the newest that the bucket proves, of this attempt or an earlier one
 * @param intervalSeconds between checkpoints, as the job received it
 */
function checkpointStall(
  trainingSince: Date,
  progress: Progress | undefined,
  intervalSeconds: number,
  now: Date,
) {
  const saved = Date.parse(progress?.updatedAt ?? '');
  const since = Number.isNaN(saved) ? trainingSince.getTime() : Math.max(saved, trainingSince.getTime());
  const ageSeconds = Math.round((now.getTime() - since) / 1_000);
  const usual = Math.max(LEAST_PATIENCE_SECONDS, PATIENCE_INTERVALS * intervalSeconds);
  const patience = progress === undefined ? Math.max(FIRST_PATIENCE_SECONDS, usual) : usual;
  if (ageSeconds < patience) return undefined;
  return { step: progress?.step ?? 0, ageSeconds, expectedSeconds: intervalSeconds };
}

/** @param job a fresh description */
export async function watchHangs(
  deps: WatchDeps,
  { runId, pipeline, jobName, attempt, placement }: AttemptRecord,
  job: TrainingJobDescription,
): Promise<void> {
  const trainingSince = trainingSinceOf(job);
  // Notes of another region are copied home when the attempt ends.
  if (trainingSince === undefined || placement.pool.region !== undefined) return;
  const hangs = await readHangs(deps.store, bucketKeys.hangs(pipeline, runId));
  // A host gets the notes of earlier attempts with their checkpoints.
  const current = hangs.filter(({ since }) => Date.parse(since) >= trainingSince.getTime());
  if (current.length === 0) return;
  const announced = new Set((await deps.timeline.list(runId)).map(({ id }) => id));
  for (const { host, since, kind = 'idle', ranks = [] } of current) {
    const id = `hangs-${attempt}-${host}-${since}`;
    if (announced.has(id)) continue;
    await deps.notifier.notify(
      { runId, pipeline },
      { type: 'ScriptHangs', attempt, jobName, host, since, kind, ranks },
    );
    await deps.timeline.add(runId, {
      id,
      at: deps.clock.now().toISOString(),
      kind: 'ScriptHangs',
      text: `attempt ${attempt}: the script on ${host} ${HANGS[kind]} since ${since}, and the job bills on: a loader's worker may have died, or a rank waits for another. Its last lines and stacks are in the log${ranks.map((rank) => `; ${rank}`).join('')}`,
    });
  }
}

const HANGS = {
  idle: 'has neither computed nor printed anything',
  noSteps: 'computes and has made no step',
} as const;

async function readHangs(store: ObjectStore, prefix: string) {
  const files = await readHostFiles(store, prefix, (key) => namePartsOf('hangs', key)?.host);
  return files.flatMap(({ of: host, text }) => {
    const note = valueOf(readDocument(hangNote, text));
    const since = note?.hangsSince ?? undefined;
    return since === undefined ? [] : [{ ...note, host, since }];
  });
}
