import { executionName } from '../../records/batches.ts';
import type { Executions } from '../../records/ports.ts';
import type { RunRecord } from '../../records/run-records.ts';

/** The same input for every trigger, so that Step Functions knows a repeated start for what it is. */
export const startExecution = (executions: Executions, { runId, pipeline, execution }: RunRecord) =>
  executions.start(executionName(runId, execution), { runId, pipeline });
