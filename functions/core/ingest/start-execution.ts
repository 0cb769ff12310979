import { executionName } from '../runs/batches.ts';
import type { RunRecord } from '../runs/run-records.ts';
import type { Executions } from '../shared/ports.ts';

/** The same input for every trigger, so that Step Functions knows a repeated start for what it is. */
export const startExecution = (executions: Executions, { runId, pipeline, execution }: RunRecord) =>
  executions.start(executionName(runId, execution), { runId, pipeline });
