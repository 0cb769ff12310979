/** Executions on Step Functions. */
import {
  DescribeExecutionCommand,
  ExecutionAlreadyExists,
  ExecutionDoesNotExist,
  InvalidToken,
  SendTaskSuccessCommand,
  type SFNClient,
  StartExecutionCommand,
  StopExecutionCommand,
  TaskDoesNotExist,
  TaskTimedOut,
} from '@aws-sdk/client-sfn';
import { executionName } from '../../records/batches.ts';
import type { ExecutionStatus, Executions } from '../../records/ports.ts';

/** By the error of a Fail state in statemachines/run.asl.json, or of the Report state. */
const ENDED: Readonly<Record<string, ExecutionStatus>> = {
  RetriesExhausted: 'retriesExhausted',
  UnreadableRecordError: 'held',
};

export function stepFunctionsExecutions(sfn: SFNClient, stateMachineArn: string): Executions {
  const arnOf = (name: string) => `${stateMachineArn.replace(':stateMachine:', ':execution:')}:${name}`;
  const status = async (name: string) => {
    try {
      const execution = await sfn.send(new DescribeExecutionCommand({ executionArn: arnOf(name) }));
      if (execution.status === 'RUNNING' || execution.status === 'PENDING_REDRIVE') return 'running';
      return ENDED[execution.error ?? ''] ?? 'ended';
    } catch (error: unknown) {
      if (error instanceof ExecutionDoesNotExist) return undefined;
      throw error;
    }
  };
  return {
    status,
    start: async ({ runId, pipeline, execution }) => {
      const name = executionName(runId, execution);
      const input = JSON.stringify({ runId, pipeline });
      try {
        await sfn.send(new StartExecutionCommand({ stateMachineArn, name, input }));
        return 'started';
      } catch (error: unknown) {
        // The execution has ended, or it runs and Step Functions did not recognise the equal input.
        if (!(error instanceof ExecutionAlreadyExists)) throw error;
        return (await status(name)) === 'running' ? 'running' : 'closed';
      }
    },
    stop: async (name) => {
      try {
        await sfn.send(new StopExecutionCommand({ executionArn: arnOf(name), error: 'StoppedByTidewheel' }));
      } catch (error: unknown) {
        if (!(error instanceof ExecutionDoesNotExist)) throw error;
      }
    },
    succeed: async (taskToken, output) => {
      try {
        await sfn.send(new SendTaskSuccessCommand({ taskToken, output: JSON.stringify(output) }));
        return 'delivered';
      } catch (error: unknown) {
        const stale =
          error instanceof TaskTimedOut || error instanceof TaskDoesNotExist || error instanceof InvalidToken;
        if (stale) return 'stale';
        throw error;
      }
    },
  };
}
