/** The answer about runs side by side. */
import { compareRuns } from '../attempts/doctor/compare-runs.ts';
import { readSeries } from '../runs/series.ts';
import type { Stores } from '../runs/stores.ts';
import type { ObjectStore } from '../shared/ports.ts';
import { type AnswerOf, noRun, ok, type RequestOf } from './answers.ts';

export interface CompareDeps extends Pick<Stores, 'runs' | 'attempts'> {
  readonly store: ObjectStore;
}

export async function getComparison(
  { runs, attempts, store }: CompareDeps,
  { query }: RequestOf<'GET /compare'>,
): AnswerOf<'GET /compare'> {
  const found = await Promise.all(query.runs.map(async (runId) => (await runs.get(runId)) ?? runId));
  const absent = found.find((run) => typeof run === 'string');
  if (absent !== undefined) return noRun(absent);
  const compared = await Promise.all(
    found
      .filter((run) => typeof run !== 'string')
      .map(async (run) => ({
        run,
        attempts: await attempts.list(run.runId),
        series: await readSeries(store, run.pipeline, run.runId),
      })),
  );
  return ok(compareRuns(compared, query.metric));
}
