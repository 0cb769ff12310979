/** The demo's run: dropped data, or (when it is all packed already) a run that trains on it again; an unfinished one first. */
import { InvokeCommand } from '@aws-sdk/client-lambda';
import { defaultVpc } from '@tidewheel/emulators/region/subnets.ts';
import * as z from 'zod';
import type { RunReport } from '../../functions/core/attempts/report.ts';
import { followRun } from '../show/follow.ts';
import { DEMO_PIPELINE, DIGITS, demoDeclaration, dropDigits, isDropped, uploadSource } from './demo.ts';
import type { Session } from './session.ts';
import { waitForRun } from './wait-for-run.ts';

const runList = z.object({ runs: z.array(z.object({ runId: z.string(), status: z.string() })) });
const FINISHED = ['succeeded', 'failed', 'empty'];

export async function runDemo(session: Session): Promise<RunReport | undefined> {
  const { api, region, screen, signal } = session;
  await declareDemo(session);
  const unfinished = await newestRun(session);
  if (unfinished && !FINISHED.includes(unfinished.status)) {
    screen.line(`  ${unfinished.runId} was not finished when the last start ended: it goes on`);
    await reconcileNow(session);
    return followRun(api, unfinished.runId, screen, signal);
  }
  const target = { s3: region.clients.s3, bucket: region.stack.bucket, projectFolder: session.projectFolder };
  if (await isDropped(target)) {
    screen.line('  the digits were dropped by an earlier start: a new run trains on them');
    const { body } = await api.call('POST', `/pipelines/${DEMO_PIPELINE}/runs`);
    return followRun(api, z.object({ runId: z.string() }).parse(body).runId, screen, signal);
  }
  screen.line(`  dropping ${DIGITS} images of handwritten digits, and one file that is no image`);
  await dropDigits(target, (count) => screen.bar('dropped', count, DIGITS));
  const runId = await waitForRun(session, DEMO_PIPELINE, unfinished?.runId);
  return runId === undefined ? undefined : followRun(api, runId, screen, signal);
}

async function declareDemo({ api, region, screen, projectFolder, launcher }: Session): Promise<void> {
  const target = { s3: region.clients.s3, bucket: region.stack.bucket, projectFolder };
  await uploadSource(target);
  const text = await demoDeclaration(projectFolder, await defaultVpc(region.clients.ec2), launcher);
  const { status, body } = await api.call('PUT', `/pipelines/${DEMO_PIPELINE}`, text);
  if (status !== 200) throw new Error(`the demo's pipeline was refused (${status}): ${JSON.stringify(body)}`);
  screen.done(`pipeline ${DEMO_PIPELINE} is declared`);
}

export async function newestRun({ api }: Session): Promise<{ runId: string; status: string } | undefined> {
  const { body } = await api.call('GET', `/pipelines/${DEMO_PIPELINE}/runs?limit=1`);
  const parsed = runList.safeParse(body);
  return parsed.success ? parsed.data.runs[0] : undefined;
}

/** What the schedule does every few minutes, at once: executions that died with the last start are taken up again. */
async function reconcileNow({ region }: Session): Promise<void> {
  const FunctionName = 'tidewheel-dev-reconcile';
  await region.clients.lambda.send(
    new InvokeCommand({ FunctionName, Payload: Buffer.from(JSON.stringify({ sweep: true })) }),
  );
}
