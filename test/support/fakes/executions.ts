/** Step Functions' naming and task tokens, without the machine: a test says what an execution does. */
import { executionName } from '../../../functions/records/batches.ts';
import type { ExecutionStatus, Executions, StartedRun } from '../../../functions/records/ports.ts';

export interface MemoryExecutions extends Executions {
  readonly started: Map<string, unknown>;
  /** The execution of this name ends; its tokens die with it. */
  end(name: string, status?: Exclude<ExecutionStatus, 'running'>): void;
  /** A state of this execution waits for the token. */
  wait(name: string, token: string): void;
  /** The answers to waiting executions, by token. */
  readonly answers: Map<string, unknown>;
}

export function memoryExecutions(
  onStart: (name: string, run: StartedRun) => void = () => {},
): MemoryExecutions {
  const started = new Map<string, unknown>();
  const ended = new Map<string, ExecutionStatus>();
  const waiting = new Map<string, string>();
  const answers = new Map<string, unknown>();
  const end = (name: string, status: Exclude<ExecutionStatus, 'running'> = 'ended'): void => {
    ended.set(name, status);
    for (const [token, owner] of waiting) if (owner === name) waiting.delete(token);
  };
  return {
    started,
    answers,
    end,
    wait: (name, token) => {
      waiting.set(token, name);
    },
    start: (run) => {
      const { runId, pipeline, execution } = run;
      const name = executionName(runId, execution);
      const input = { runId, pipeline };
      if (started.has(name)) {
        const same = JSON.stringify(started.get(name)) === JSON.stringify(input);
        return Promise.resolve(ended.has(name) || !same ? 'closed' : 'running');
      }
      started.set(name, input);
      onStart(name, run);
      return Promise.resolve('started');
    },
    status: (name) => {
      if (!started.has(name)) return Promise.resolve(undefined);
      return Promise.resolve(ended.get(name) ?? 'running');
    },
    stop: (name) => {
      if (started.has(name) && !ended.has(name)) end(name);
      return Promise.resolve();
    },
    succeed: (token, output) => {
      if (!waiting.delete(token)) return Promise.resolve('stale');
      answers.set(token, output);
      return Promise.resolve('delivered');
    },
  } satisfies MemoryExecutions;
}
