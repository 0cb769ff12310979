/** The run that a person waits for may not have begun: it does so some seconds after the first file has arrived. */
import { setTimeout as sleep } from 'node:timers/promises';
import { once } from '@tidewheel/kit/once.ts';
import { type Api, isPassing } from '../command/api-calls.ts';
import type { Context } from '../command/context.ts';
import { NoRunYetError, type RunRow, runMeant, runRows } from '../command/run-list.ts';

const POLL_MILLISECONDS = 1_000;
/** An arrival starts a run within seconds; within minutes where its event was lost. */
const LONGEST_MILLISECONDS = 180_000;
const MOST_TAKERS = 20;

type KnownRun = Pick<RunRow, 'runId' | 'status'>;

export const newestRun = async (api: Api, pipeline: string): Promise<RunRow | undefined> =>
  (await runRows(api, { pipeline }, 1))[0];

/**
 * The newest run that takes something of what was sent after `before`: a slow upload may close more than one batch. One
 * that settles behind another may have come for events that were late, and will have nothing.
 */
function takerOf(runs: readonly KnownRun[], before: KnownRun | undefined) {
  const since = runs
    .slice(0, runs.findIndex(({ runId }) => runId === before?.runId) + 1 || undefined)
    .filter(({ runId, status }) => runId !== before?.runId || status === 'settling');
  const filled = since.filter(({ status }) => status !== 'empty');
  const [run] = filled.length > 0 ? filled : since.slice(-1);
  return { run, isSure: run?.status !== 'settling' || filled.length === 1 };
}

interface BeginDeps {
  readonly api: Api;
  readonly terminal: Pick<Context['terminal'], 'note'>;
  readonly pause?: (milliseconds: number) => Promise<unknown>;
}

/** @returns the run that takes what was sent @throws Error where none begins, or where the API is silent to the end */
export async function runAfter(
  { api, terminal, pause = sleep }: BeginDeps,
  pipeline: string,
  before: KnownRun | undefined,
): Promise<string> {
  let waits: KnownRun | undefined;
  let silence: Error | undefined;
  const sayThatItWaits = once(() => terminal.note(`waiting for the run of ${pipeline} to begin`));
  for (const end = Date.now() + LONGEST_MILLISECONDS; Date.now() < end; await pause(POLL_MILLISECONDS)) {
    try {
      const { run, isSure } = takerOf(await runRows(api, { pipeline }, MOST_TAKERS), before);
      silence = undefined;
      if (run !== undefined && isSure) return run.runId;
      waits = run;
    } catch (error: unknown) {
      // The data has been sent: a call that may succeed later must not end the command.
      if (!isPassing(error)) throw error;
      silence = error;
    }
    sayThatItWaits();
  }
  // The batch may have closed between the last file and the first look.
  const late = waits ?? (before?.status === 'settling' ? before : undefined);
  if (late !== undefined) return late.runId;
  const noRun = new Error(
    `no run of ${pipeline} has begun in 3 minutes: drop data (tidewheel drop DIR), or start one (tidewheel run)`,
  );
  throw silence ?? noRun;
}

/** The run that a person means, or the first one of a pipeline that has none yet. @throws NoRunYetError where no pipeline is known */
export async function runToWatch(context: Context, given: string | undefined): Promise<string> {
  try {
    return await runMeant(context, given);
  } catch (error: unknown) {
    if (!(error instanceof NoRunYetError) || error.pipeline === undefined) throw error;
    return runAfter({ api: await context.api(), terminal: context.terminal }, error.pipeline, undefined);
  }
}
