import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { FINISHED, type RunRecord } from '../../records/run-records.ts';
import { type RunReport, readReport, reportSchema } from '../../run/attempts/make-report.ts';
import { isOpenAgain } from '../../run/attempts/retry-run.ts';
import { ok, problem } from '../shared/answers.ts';
import { defineRunOperation, READS } from '../shared/operation.ts';

export const getReport = defineRunOperation(
  {
    ...READS,
    route: 'GET /runs/{runId}/report',
    id: 'getReport',
    summary: 'Shows the report of an ended run.',
    answer: reportSchema,
    refusals: [404, 409],
  },
  async ({ store }, { run }) => {
    const report = await endedReport(store, run);
    if (report !== undefined) return ok(report);
    return FINISHED.includes(run.status)
      ? problem(404, `the report of ${run.runId} is not there, or cannot be read`)
      : problem(
          404,
          `${run.runId} has no report yet: it comes at its end, and GET /runs/${run.runId} has its money so far`,
        );
  },
);

/**
 * The report of an earlier end says nothing of a run that goes on.
 * @throws UnreadableRecordError
 */
export const endedReport = async (store: ObjectStore, run: RunRecord): Promise<RunReport | undefined> =>
  isOpenAgain(run) ? undefined : readReport(store, run);
