/** A batch of the arrivals queue: each pipeline is woken once, each declaration registered, each failure goes back alone. */

import type { Stores } from '../runs/stores.ts';
import type { Schedules } from '../shared/ports.ts';
import { type Arrival, newestWakes, readArrival } from './arrivals.ts';
import { registerPipeline, type WakeDeps, wakeRun } from './wake.ts';

interface ArrivalDeps extends WakeDeps, Pick<Stores, 'testObjects'> {
  readonly schedules: Schedules;
}

export interface QueueMessage {
  readonly messageId: string;
  readonly body: string;
}

export interface Taken {
  /** Messages to be delivered again. */
  readonly failed: readonly { readonly messageId: string; readonly reason: string }[];
  readonly notes: readonly string[];
}

export async function takeArrivals(deps: ArrivalDeps, messages: readonly QueueMessage[]): Promise<Taken> {
  const arrivals = messages.map(({ body }) => readArrival(body));
  const standing = newestWakes(arrivals);
  const failed: { messageId: string; reason: string }[] = [];
  const notes: string[] = [];
  for (const [index, arrival] of arrivals.entries()) {
    try {
      // A wake that another of this batch stands for goes with it: if that one fails, it is that one that comes back.
      if (arrival.kind !== 'wake' || standing.has(index)) notes.push(await take(deps, arrival));
    } catch (error: unknown) {
      failed.push({
        messageId: messages[index]?.messageId ?? '',
        reason: error instanceof Error ? error.message : String(error),
      });
    }
  }
  return { failed, notes };
}

async function take(deps: ArrivalDeps, arrival: Arrival): Promise<string> {
  switch (arrival.kind) {
    case 'ignored':
      return `ignored: ${arrival.reason}`;
    case 'declaration': {
      const registered = await registerPipeline(deps, arrival.pipeline);
      const problems = registered.kind === 'invalid' ? registered.problems : [];
      const detail = problems.map(({ path, message }) => `${path}: ${message}`).join('; ');
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
