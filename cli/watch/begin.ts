/** The run that a person waits for may not have begun: it does so some seconds after the first file has arrived. */
import { setTimeout as sleep } from 'node:timers/promises';
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

/** Which runs may take what was sent after `before`, newest first: a slow upload may close more than one batch. */
const takers = (runs: readonly KnownRun[], before: KnownRun | undefined): readonly KnownRun[] =>
  runs
    .slice(0, runs.findIndex(({ runId }) => runId === before?.runId) + 1 || undefined)
    .filter(({ runId, status }) => runId !== before?.runId || status === 'settling');

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
  let isNoted = false;
  for (const end = Date.now() + LONGEST_MILLISECONDS; Date.now() < end; await pause(POLL_MILLISECONDS)) {
    try {
      const taking = takers(await runRows(api, { pipeline }, MOST_TAKERS), before);
      silence = undefined;
      const filled = taking.filter(({ status }) => status !== 'empty');
      const [newest] = filled.length > 0 ? filled : taking.slice(-1);
      // One that still settles behind another may have come for events that were late, and will have nothing.
      if (newest !== undefined && (newest.status !== 'settling' || filled.length === 1)) return newest.runId;
      waits = newest;
    } catch (error: unknown) {
      // The data has been sent: a call that may succeed later must not end the command.
      if (!isPassing(error)) throw error;
      silence = error;
    }
    if (!isNoted)
      terminal.note(
        waits === undefined
          ? `waiting for the run of ${pipeline} to begin`
          : `waiting for what ${waits.runId} takes`,
      );
    isNoted = true;
  }
  if (waits !== undefined) return waits.runId;
  // The batch may have closed between the last file and the first look.
  if (before?.status === 'settling') return before.runId;
  if (silence !== undefined) throw silence;
  throw new Error(
    `no run of ${pipeline} has begun in 3 minutes: drop data (tidewheel drop DIR), or start one (tidewheel run)`,
  );
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
