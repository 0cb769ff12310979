/** Waits until a pipeline has a run newer than a known one: arrivals take a moment to become one. */
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import type { Session } from './session.ts';

const POLL_MILLISECONDS = 500;
const runList = z.object({ runs: z.array(z.object({ runId: z.string() })) });

/** @returns the run's name, or undefined when the session ended before */
export async function waitForRun(
  session: Session,
  pipeline: string,
  after: string | undefined,
): Promise<string | undefined> {
  const { api, signal } = session;
  while (!signal.aborted) {
    const reply = await api.call('GET', `/pipelines/${pipeline}/runs?limit=1`).catch(() => undefined);
    const newest = runList.safeParse(reply?.body);
    const runId = newest.success ? newest.data.runs[0]?.runId : undefined;
    if (runId !== undefined && runId !== after) return runId;
    await sleep(POLL_MILLISECONDS, undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}
