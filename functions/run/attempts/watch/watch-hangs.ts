/** Announces each hang of a running attempt's script once, on the run's timeline and the event bus. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { readDocument, valueOf } from '@tidewheel/contract/document.ts';
import { namePartsOf } from '@tidewheel/contract/files.ts';
import { hangNote } from '@tidewheel/contract/hangs.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import type { TrainingJobDescription } from '../../../launch/job/training-service.ts';
import { readHostFiles } from '../../../records/host-files.ts';
import type { AttemptRecord } from '../../../records/run-records.ts';
import { trainingSinceOf, type WatchDeps } from './training-since.ts';

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
  for (const { host, since } of current) {
    const id = `hangs-${attempt}-${host}-${since}`;
    if (announced.has(id)) continue;
    await deps.notifier.notify({ runId, pipeline }, { type: 'ScriptHangs', attempt, jobName, host, since });
    await deps.timeline.add(runId, {
      id,
      at: deps.clock.now().toISOString(),
      kind: 'ScriptHangs',
      text: `attempt ${attempt}: the script on ${host} has neither computed nor printed anything since ${since}, and the job bills on: a loader's worker may have died, or a rank waits for another. Its last lines are in the log`,
    });
  }
}

interface Hang {
  readonly host: string;
  readonly since: string;
}

async function readHangs(store: ObjectStore, prefix: string): Promise<readonly Hang[]> {
  const files = await readHostFiles(store, prefix, (key) => namePartsOf('hangs', key)?.host);
  return files.flatMap(({ of: host, text }) => {
    const since = valueOf(readDocument(hangNote, text))?.hangsSince ?? undefined;
    return since === undefined ? [] : [{ host, since }];
  });
}
