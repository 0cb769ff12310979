import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import * as z from 'zod';
import { readStepSpeed } from '../../records/evidence-files.ts';
import type { AttemptRecord, RunRecord } from '../../records/run-records.ts';
import { readSeries } from '../../records/series.ts';
import {
  comparisonSchema,
  compareMeasuredRuns as sideBySide,
} from '../../run/attempts/doctor/compare-runs.ts';
import { gangHourlyUsd } from '../../run/attempts/stop-rules.ts';
import { noRun, ok } from '../shared/answers.ts';
import { defineOperation, READS } from '../shared/operation.ts';
import { namesText } from '../shared/query-text.ts';

const MOST_RUNS = 20;

export const compareRuns = defineOperation(
  {
    ...READS,
    route: 'GET /compare',
    id: 'compareRuns',
    summary: 'Shows runs side by side: speed, utilisation, and dollars until the same metric.',
    query: z.strictObject({
      runs: namesText
        .refine((names) => names.length >= 2 && names.length <= MOST_RUNS, `name 2 to ${MOST_RUNS} runs`)
        .describe('Such as digits-000041,digits-000042.'),
      metric: z
        .string()
        .min(1)
        .optional()
        .describe('A series; absent: one that all runs have, a loss first.'),
    }),
    answer: comparisonSchema,
    refusals: [404],
  },
  async ({ runs, attempts, store }, { query }) => {
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
    return ok(sideBySide(compared, query.metric));
  },
);

async function probedOf(store: ObjectStore, run: RunRecord, attempts: readonly AttemptRecord[]) {
  const placement = attempts.at(-1)?.placement;
  if (run.probe === undefined || placement === undefined) return undefined;
  const speed = await readStepSpeed(store, run);
  return speed && { speed, usdPerHour: gangHourlyUsd(placement) };
}
