/** Waits until a pipeline has a run newer than a known one: arrivals take a moment to become one. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from '../serve/session.ts';

const POLL_MILLISECONDS = 500;

/** @returns the run's name, or undefined when the session ended before */
export async function waitForRun(
  { stores, signal }: Session,
  pipeline: string,
  after: string | undefined,
): Promise<string | undefined> {
  while (!signal.aborted) {
    const runs = await stores.runs.list(pipeline, 1).catch(() => []);
    const runId = runs[0]?.runId;
    if (runId !== undefined && runId !== after) return runId;
    await sleep(POLL_MILLISECONDS, undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}
