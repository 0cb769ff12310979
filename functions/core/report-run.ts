/** The Report state: writes the report, closes the run and its batch, tells others. Also after an error of any state. */
import { RunNotFoundError } from './errors.ts';
import { layout } from './layout.ts';
import type { Clock, Notifier, ObjectStore } from './ports.ts';
import { FINISHED, type RunRecord } from './records.ts';
import { makeReport, type RunReport } from './report.ts';
import type { RunStore } from './run-store.ts';

export interface ReportDeps {
  readonly runs: RunStore;
  readonly store: ObjectStore;
  readonly notifier: Notifier;
  readonly clock: Clock;
}

/** What the states before it found, in the state machine's own words. */
export interface Verdict {
  readonly kind: 'done' | 'failed' | 'empty';
  readonly reason: string;
}

/** The report is written before the run is closed: a crash between the two writes it once more. */
export async function reportRun(deps: ReportDeps, runId: string, verdict: Verdict): Promise<RunReport> {
  const run = await deps.runs.getRun(runId);
  if (run === undefined) throw new RunNotFoundError(runId);
  const finishedAt = deps.clock.now().toISOString();
  const status = statusOf(verdict);
  await deps.runs.addTimeline(runId, {
    id: 'finished',
    at: finishedAt,
    kind: titleOf(status),
    text: verdict.reason,
  });
  const report = makeReport({
    run,
    attempts: await deps.runs.listAttempts(runId),
    timeline: await deps.runs.listTimeline(runId),
    status,
    failure: status === 'failed' ? verdict.reason : undefined,
    finishedAt,
  });
  await deps.store.writeText(layout.report(run.pipeline, runId), `${JSON.stringify(report, null, 2)}\n`);
  // A run that failed before its batch was closed must not keep the next arrivals.
  if (run.closedAt === undefined) await deps.runs.closeBatch(run, { at: finishedAt });
  await notify(deps, run, report);
  await deps.runs.updateRun(runId, {
    status,
    updatedAt: finishedAt,
    ...(report.failure !== undefined && { failure: report.failure }),
    ...(report.modelUri !== undefined && { modelUri: report.modelUri }),
  });
  return report;
}

async function notify(deps: ReportDeps, run: RunRecord, report: RunReport): Promise<void> {
  if (FINISHED.includes(run.status) || report.status === 'empty') return;
  const { costUsd, onDemandUsd, modelUri } = report;
  await deps.notifier.notify(
    run,
    report.status === 'succeeded'
      ? { type: 'RunFinished', modelUri, costUsd, onDemandUsd }
      : { type: 'RunFailed', reason: report.failure ?? 'unknown' },
  );
}

function statusOf({ kind }: Verdict): RunReport['status'] {
  switch (kind) {
    case 'done':
      return 'succeeded';
    case 'failed':
    case 'empty':
      return kind;
  }
}

function titleOf(status: RunReport['status']): string {
  switch (status) {
    case 'succeeded':
      return 'RunFinished';
    case 'failed':
      return 'RunFailed';
    case 'empty':
      return 'NothingNew';
  }
}
