/** A batch of the arrivals queue: each pipeline is woken once, each declaration registered, each failure goes back alone. */

import { messageOf, problemsText } from '@tidewheel/kit/errors.ts';
import type { Stores } from '../../records/stores.ts';
import type { QueueMessage, Taken } from '../queue-messages.ts';
import { type ArrivalEvent, newestWakes, readArrivals } from './arrivals.ts';
import { noteArrivals } from './notified.ts';
import { type RegisterDeps, registerPipeline } from './register-pipeline.ts';
import { wakeRun } from './wake.ts';

type ArrivalDeps = RegisterDeps & Pick<Stores, 'testObjects'>;

/** A batch may hold thousands of messages that are ignored for reasons of their own. */
const MOST_NOTES = 20;

export async function takeArrivals(deps: ArrivalDeps, messages: readonly QueueMessage[]): Promise<Taken> {
  const arrivals = messages.flatMap(({ messageId, body }) =>
    readArrivals(body).map((arrival) => ({ messageId, arrival })),
  );
  const standing = newestWakes(arrivals.map(({ arrival }) => arrival));
  const failed = await noteLargeFolders(deps, arrivals);
  const notes = new Map<string, number>();
  for (const [index, { messageId, arrival }] of arrivals.entries()) {
    if (failed.has(messageId)) continue;
    // A wake that another of this batch stands for goes with it: if that one fails, it is that one that comes back.
    if (arrival.kind === 'wake' && !standing.has(index)) continue;
    try {
      const note = await take(deps, arrival);
      notes.set(note, (notes.get(note) ?? 0) + 1);
    } catch (error: unknown) {
      failed.set(messageId, messageOf(error));
    }
  }
  return {
    failed: [...failed].map(([messageId, reason]) => ({ messageId, reason })),
    notes: [...notes]
      .slice(0, MOST_NOTES)
      .map(([note, times]) => (times > 1 ? `${note} (${times} times)` : note)),
  };
}

interface MessageArrival {
  readonly messageId: string;
  readonly arrival: ArrivalEvent;
}

/** @returns why messages of pipelines whose keys could not be noted come again */
async function noteLargeFolders(
  deps: ArrivalDeps,
  arrivals: readonly MessageArrival[],
): Promise<Map<string, string>> {
  const failed = new Map<string, string>();
  const byPipeline = Map.groupBy(arrivals, ({ arrival }) =>
    arrival.kind === 'wake' && arrival.key !== undefined ? arrival.wake.pipeline : undefined,
  );
  for (const [pipeline, found] of byPipeline) {
    if (pipeline === undefined) continue;
    const keys = found.flatMap(({ arrival }) => ('key' in arrival ? (arrival.key ?? []) : []));
    try {
      const record = await deps.pipelines.get(pipeline);
      if (record?.notified !== undefined) await noteArrivals(deps, pipeline, keys);
    } catch (error: unknown) {
      const reason = messageOf(error);
      for (const { messageId } of found) failed.set(messageId, reason);
    }
  }
  return failed;
}

async function take(deps: ArrivalDeps, arrival: ArrivalEvent): Promise<string> {
  switch (arrival.kind) {
    case 'ignored':
      return `ignored: ${arrival.reason}`;
    case 'malformed':
      throw new Error('the message is no JSON');
    case 'declaration': {
      const registered = await registerPipeline(deps, arrival.pipeline);
      const problems = registered.kind === 'invalid' ? registered.problems : [];
      const detail = problemsText(problems);
      return `pipeline ${arrival.pipeline} is ${registered.kind}${detail && ` (${detail})`}`;
    }
    case 'testObject': {
      await deps.testObjects.setTaken(arrival.id, deps.clock.now().toISOString());
      return `test object ${arrival.id}`;
    }
    case 'wake': {
      const woken = await wakeRun(deps, arrival.wake);
      return woken.kind === 'ignored' ? `ignored: ${woken.reason}` : `${woken.runId} is ${woken.kind}`;
    }
  }
}
