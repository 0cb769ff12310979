/** What the rules ask of the world. Adapters are in functions/aws, fakes in test/support/fakes; a contract suite checks both. */

import type { Notice } from './notices.ts';
import type { RunRecord } from './run-records.ts';

/**
 * `retriesExhausted`: it has ended because AWS throttled it or could not be reached for too long. `held`: because it met
 * what another release has stored.
 */
export type ExecutionStatus = 'running' | 'ended' | 'retriesExhausted' | 'held';

/** What names an execution (`executionName`), and the two names that are its input. */
export type StartedRun = Pick<RunRecord, 'runId' | 'pipeline' | 'execution'>;

/** Starts executions of the run state machine and knows how they ended. */
export interface Executions {
  /**
   * Idempotent: 'running' when this very execution runs already, 'closed' when one of the name has ended. The input is the
   * same for every trigger, so Step Functions knows a repeated start for what it is.
   */
  start(run: StartedRun): Promise<'started' | 'running' | 'closed'>;
  /** undefined when there is no execution of the name. */
  status(name: string): Promise<ExecutionStatus | undefined>;
  /** Ends it between two states; a function that runs goes on. Also when it has ended or does not exist. */
  stop(name: string): Promise<void>;
  /** 'stale' when no execution waits for this token any more: answered before, timed out, or the execution is gone. */
  succeed(taskToken: string, output: unknown): Promise<'delivered' | 'stale'>;
}

export interface Notifier {
  /** At least once; the same notice may come twice. */
  notify(run: { readonly runId: string; readonly pipeline: string }, notice: Notice): Promise<void>;
}

/** 'refused': the service does not take the expression, and nothing changed. */
type ScheduleOutcome = { readonly kind: 'set' } | { readonly kind: 'refused'; readonly reason: string };

/** The pipelines' own schedules. */
export interface Schedules {
  /** Creates or replaces; at each time a run of the pipeline is started. */
  put(pipeline: string, expression: string): Promise<ScheduleOutcome>;
  remove(pipeline: string): Promise<void>;
  has(pipeline: string): Promise<boolean>;
}
