/** The answer about runs side by side. */
import { compareRuns } from '../attempts/doctor/compare-runs.ts';
import { gangHourlyUsd } from '../attempts/stop-rules.ts';
import type { AttemptRecord, RunRecord } from '../runs/run-records.ts';
import { readSeries } from '../runs/series.ts';
import { readStepSpeed } from '../runs/step-speeds.ts';
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
  const known = found.filter((run) => typeof run !== 'string');
  const compared = await Promise.all(
    known.map(async (run) => {
      const made = await attempts.list(run.runId);
      const series = await readSeries(store, run.pipeline, run.runId);
      return { run, attempts: made, series, probed: await probedOf(store, run, made) };
    }),
  );
  return ok(compareRuns(compared, query.metric));
}

async function probedOf(store: ObjectStore, run: RunRecord, attempts: readonly AttemptRecord[]) {
  const placement = attempts.at(-1)?.placement;
  if (run.probe === undefined || placement === undefined) return undefined;
  const speed = await readStepSpeed(store, run);
  return speed && { speed, usdPerHour: gangHourlyUsd(placement) };
}
