/** Shows a run until it has ended. It only reads: the run goes on when the person leaves. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isFinished } from '../../client/run-view.ts';
import type { Api } from '../command/api-calls.ts';
import type { Context } from '../command/context.ts';
import { EXIT, type ExitCode } from '../command/exit.ts';
import { RunPolling } from './looks.ts';
import { News, summary } from './news.ts';
import { screenLines } from './screen.ts';
import type { WatchedRun } from './view.ts';

const POLL_MILLISECONDS = 2_000;
/** As a shell has it for a program that Ctrl-C ended. */
const INTERRUPTED = 130;

interface WatchOptions {
  /** The run's result is the exit code. */
  readonly exitStatus: boolean;
}

/** @returns the exit code */
export async function watchRun(
  context: Context,
  runId: string,
  { exitStatus }: WatchOptions,
): Promise<number> {
  const api = await context.api();
  const leaving = new AbortController();
  const leave = () => leaving.abort();
  process.on('SIGINT', leave);
  try {
    const last = await watchUntilEnd(context, { api, runId, signal: leaving.signal });
    if (last === undefined) {
      context.terminal.note(
        `\n${runId} goes on. See it again: tidewheel watch ${runId}; end it: tidewheel stop ${runId}`,
      );
      return INTERRUPTED;
    }
    if (context.json) context.terminal.print(JSON.stringify(resultOf(last), null, 2));
    return exitStatus ? exitCodeOf(last) : EXIT.ok;
  } finally {
    process.off('SIGINT', leave);
  }
}

interface Watch {
  readonly api: Api;
  readonly runId: string;
  readonly signal: AbortSignal;
}

/** @returns undefined if the person left before the end */
async function watchUntilEnd(
  { terminal, json }: Context,
  { api, runId, signal }: Watch,
): Promise<WatchedRun | undefined> {
  const isDrawn = terminal.isLive && !json;
  const news = new News();
  const looks = new RunPolling(api, runId);
  let drawn = 0;
  while (!signal.aborted) {
    const watched = await looks.next();
    const isOver = watched.silentSince === undefined && hasEnded(watched.view);
    if (isDrawn) {
      const { columns, colours } = terminal;
      const lines = screenLines(watched, { now: Date.now(), columns, colours });
      terminal.redraw(lines, drawn);
      drawn = lines.length;
    } else if (!json) {
      for (const line of news.of(watched)) terminal.print(line);
      if (isOver) for (const line of summary(watched)) terminal.print(line);
    }
    if (isOver) return watched.view;
    await sleep(POLL_MILLISECONDS, undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}

/** An ended run has a report a moment later, except where nothing was to be trained. */
const hasEnded = ({ run, report }: WatchedRun): boolean =>
  isFinished(run) && (report !== undefined || run.status === 'empty');

function exitCodeOf({ run, report }: WatchedRun): ExitCode {
  if (run.status === 'failed' || run.status === 'stopped') return EXIT.runFailed;
  return report?.deadline.met === false ? EXIT.deadlineMissed : EXIT.ok;
}

const resultOf = ({ run, report }: WatchedRun) => ({
  runId: run.runId,
  pipeline: run.pipeline,
  status: run.status,
  failure: run.failure,
  modelUri: report?.modelUri,
  judged: run.judged,
  source: run.source,
  git: run.git,
  metrics: report?.metrics,
  objective: report?.objective,
  costUsd: report?.costUsd,
  onDemandUsd: report?.onDemandUsd,
  lostSeconds: report?.lostSeconds,
  interruptions: report?.interruptions,
  deadline: report?.deadline,
  startedAt: run.createdAt,
  finishedAt: report?.finishedAt ?? run.updatedAt,
});
