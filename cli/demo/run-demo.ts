/** The demo's run: dropped data, or (when it is all packed already) a run that trains on it again; an unfinished one first. */
import { setTimeout as sleep } from 'node:timers/promises';
import { S3ServiceException } from '@aws-sdk/client-s3';
import { defaultVpc } from '@tidewheel/emulators/region/subnets.ts';
import * as z from 'zod';
import { isFinished } from '../../client/run-view.ts';
import type { RunReport } from '../../functions/run/attempts/make-report.ts';
import type { Session } from '../serve/session.ts';
import { followRun } from '../show/follow.ts';
import {
  DEMO_PIPELINE,
  type DemoTarget,
  DIGITS,
  demoDeclaration,
  dropDigits,
  isDropped,
  uploadSource,
} from './demo.ts';

export async function runDemo(session: Session): Promise<RunReport | undefined> {
  const { api, region, screen, signal } = session;
  await declareDemo(session);
  const [newest] = await session.stores.runs.list(DEMO_PIPELINE, 1);
  if (newest && !isFinished(newest)) return followRun(api, newest.runId, screen, signal);
  const target = { s3: region.clients.s3, bucket: region.stack.bucket, projectFolder: session.projectFolder };
  if (await isDropped(target)) {
    screen.line('  the digits were dropped by an earlier start: a new run trains on them');
    const { body } = await api.call('POST', `/pipelines/${DEMO_PIPELINE}/runs`);
    return followRun(api, z.object({ runId: z.string() }).parse(body).runId, screen, signal);
  }
  screen.line(`  dropping ${DIGITS} images of handwritten digits, and one file that is no image`);
  await dropWithPatience(session, target);
  const runId = await awaitNewRun(session, DEMO_PIPELINE, newest?.runId);
  return runId === undefined ? undefined : followRun(api, runId, screen, signal);
}

const PAUSE_MILLISECONDS = 3_000;

/** A full disk refuses uploads until there is room. A drop that is repeated writes the same objects. */
async function dropWithPatience({ screen, signal }: Session, target: DemoTarget): Promise<void> {
  let waits = false;
  while (!signal.aborted) {
    try {
      return await dropDigits(target, (count) => screen.bar('dropped', count, DIGITS));
    } catch (error: unknown) {
      if (!(error instanceof S3ServiceException && error.$fault === 'server')) throw error;
      if (!waits) screen.problem(`the drop is tried again until it succeeds: ${error.message}`);
      waits = true;
    }
    await sleep(PAUSE_MILLISECONDS, undefined, { signal }).catch(() => undefined);
  }
}

async function declareDemo({ api, region, screen, projectFolder, launcher }: Session): Promise<void> {
  const target = { s3: region.clients.s3, bucket: region.stack.bucket, projectFolder };
  await uploadSource(target);
  const text = await demoDeclaration(projectFolder, await defaultVpc(region.clients.ec2), launcher);
  const { status, body } = await api.call('PUT', `/pipelines/${DEMO_PIPELINE}`, text);
  if (status !== 200) throw new Error(`the demo's pipeline was refused (${status}): ${JSON.stringify(body)}`);
  screen.done(`pipeline ${DEMO_PIPELINE} is declared`);
}

const POLL_MILLISECONDS = 500;

/**
 * Waits until a pipeline has a run newer than a known one: arrivals take a moment to become one.
 * @returns the run's name, or undefined when the session ended before
 */
export async function awaitNewRun(
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
