/** The answer about the log of a run. */
import { type LogReader, readRunLog, tokenOfPosition } from '../runs/run-log.ts';
import type { Stores } from '../runs/stores.ts';
import type { Clock } from '../shared/ports.ts';
import { type AnswerOf, noRun, ok, type RequestOf } from './answers.ts';

export interface LogDeps extends Pick<Stores, 'runs' | 'attempts'> {
  readonly logs: LogReader;
  readonly clock: Clock;
}

export async function getLog(
  { runs, attempts, logs, clock }: LogDeps,
  { parameters, query: { nextToken, since, ...query } }: RequestOf<'GET /runs/{runId}/log'>,
): AnswerOf<'GET /runs/{runId}/log'> {
  const runId = parameters['runId'] ?? '';
  const run = await runs.get(runId);
  if (run === undefined) return noRun(runId);
  const { entries, next, isCurrent } = await readRunLog(logs, {
    ...query,
    run,
    attempts: await attempts.list(runId),
    position: nextToken,
    since: since === undefined ? undefined : new Date(since),
    now: clock.now(),
  });
  return ok({ entries, nextToken: next && tokenOfPosition(next), isCurrent });
}
