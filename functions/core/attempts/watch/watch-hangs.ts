/** Announces each hang of a running attempt's script once, on the run's timeline and the event bus. */

import { parseJson } from '@tidewheel/kit/json.ts';
import * as z from 'zod';
import type { TrainingJobDescription } from '../../launch/job/training-service.ts';
import { readHostFiles } from '../../runs/host-files.ts';
import type { AttemptRecord } from '../../runs/run-records.ts';
import { bucketKeys } from '../../shared/keys.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { trainingSinceOf, type WatchDeps } from './training-since.ts';

/** The agent's hang.py writes one for each host that has hung. */
const noteSchema = z.object({ hangsSince: z.iso.datetime().nullable() });

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

/** The name of a host as the agent has it. A script may write there, too. */
const HOST = /^([\w.-]{1,100})\.json$/;

interface Hang {
  readonly host: string;
  readonly since: string;
}

async function readHangs(store: ObjectStore, prefix: string): Promise<readonly Hang[]> {
  const files = await readHostFiles(store, prefix, (key) => HOST.exec(key.slice(prefix.length))?.[1]);
  return files.flatMap(({ of: host, text }) => {
    const since = noteSchema.safeParse(parseJson(text)).data?.hangsSince ?? undefined;
    return since === undefined ? [] : [{ host, since }];
  });
}
