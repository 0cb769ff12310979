/** The first steps of every start: it takes up the unfinished runs of the last start and shows the existing pipelines. */
import { setTimeout as sleep } from 'node:timers/promises';
import { InvokeCommand } from '@aws-sdk/client-lambda';
import type { Region } from '@tidewheel/emulators/region/region.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import * as z from 'zod';
import { invalidText } from './news.ts';
import type { Session } from './session.ts';

const RECONCILE = 'tidewheel-dev-reconcile';
/** A run on record without an execution is left alone for 30 s: its start may still be under way. */
const AGAIN_MILLISECONDS = 35_000;

type Resumed = Pick<Session, 'stores' | 'screen' | 'signal'> & {
  readonly region: { readonly clients: Pick<Region['clients'], 'lambda'> };
};

/** The schedule would come to it after five minutes. */
export async function resumeRuns(session: Resumed): Promise<void> {
  const { stores, screen, signal } = session;
  const unfinished = await stores.runs.listOpen();
  for (const { runId, status } of unfinished)
    screen.line(`  ${runId} was not finished when the last start ended (${status}): it goes on`);
  await reconcile(session);
  if (unfinished.length === 0) return;
  void sleep(AGAIN_MILLISECONDS, undefined, { signal }).then(
    () => reconcile(session),
    () => undefined,
  );
}

const reconciled = z.object({ failures: z.array(z.string()) });

async function reconcile({ region, screen, signal }: Resumed): Promise<void> {
  const invoke = new InvokeCommand({
    FunctionName: RECONCILE,
    Payload: Buffer.from(JSON.stringify({ sweep: true })),
  });
  try {
    const { Payload } = await region.clients.lambda.send(invoke, { abortSignal: signal });
    const { failures } = reconciled.parse(JSON.parse(Buffer.from(Payload ?? []).toString()));
    for (const failure of failures)
      screen.problem(`not taken up yet, tried again within 5 minutes: ${failure}`);
  } catch (error: unknown) {
    if (signal.aborted) return;
    const reason = messageOf(error);
    screen.problem(`runs are taken up within 5 minutes, not at once: ${reason}`);
  }
}

/** @returns how many pipelines there are */
export async function showPipelines({ stores, screen }: Pick<Session, 'stores' | 'screen'>): Promise<number> {
  const pipelines = await stores.pipelines.list();
  for (const { name, valid, problems = [] } of pipelines) {
    const [newest] = await stores.runs.list(name, 1);
    const last = newest === undefined ? 'no run yet' : `last run ${newest.runId} ${newest.status}`;
    if (valid || problems.length === 0) screen.line(`  pipeline ${name}: ${last}`);
    else screen.problem(`pipeline ${name}: ${last}; ${invalidText(name, problems)}`);
  }
  return pipelines.length;
}
