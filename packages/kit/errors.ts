/**
 * Every error that leaves a function. The class decides whether the state machine tries again:
 * `statemachines/compose.ts` names TransientError in its retry policies and nothing else of ours.
 */

abstract class TidewheelError extends Error {
  abstract override readonly name: string;
}

/** The same call may succeed later: throttling, a network fault, a conflict with another writer. */
export class TransientError extends TidewheelError {
  override readonly name = 'TransientError';
}

/** What a person reads of anything that was thrown. */
export const messageOf = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown);

/** Whether Node names the fault so, such as ENOENT. */
export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

export interface Problem {
  /** Path of the field, e.g. compute.instanceTypes[0]. */
  readonly path: string;
  /** What is wrong and what to do. */
  readonly message: string;
}

export const problemText = ({ path, message }: Problem): string =>
  `${path || '(whole document)'}: ${message}`;

export const problemsText = (problems: readonly Problem[]): string => problems.map(problemText).join('; ');

/** A pipeline's declaration cannot be used; holds every problem at once. */
export class InvalidPipelineError extends TidewheelError {
  override readonly name = 'InvalidPipelineError';
  readonly problems: readonly Problem[];
  constructor(pipeline: string, problems: readonly Problem[], options?: ErrorOptions) {
    super(`pipeline "${pipeline}" is not valid: ${problemsText(problems)}`, options);
    this.problems = problems;
  }
}

/** An event or request has not the shape that the function takes. */
export class InvalidInputError extends TidewheelError {
  override readonly name = 'InvalidInputError';
  readonly problems: readonly Problem[];
  constructor(functionName: string, problems: readonly Problem[], options?: ErrorOptions) {
    super(`${functionName} cannot take this input: ${problemsText(problems)}`, options);
    this.problems = problems;
  }
}

/** A run is named that is not on record. */
export class RunNotFoundError extends TidewheelError {
  override readonly name = 'RunNotFoundError';
  constructor(runId: string, options?: ErrorOptions) {
    super(`there is no run "${runId}"`, options);
  }
}

/** This release cannot read a stored document: another release wrote it, or it is damaged. */
export class UnreadableRecordError extends TidewheelError {
  override readonly name = 'UnreadableRecordError';
}

/** For `catch` at records that a decision can do without: those that cannot be read count as none. */
export function noneIfUnreadable(error: unknown): undefined {
  if (!(error instanceof UnreadableRecordError)) throw error;
}

/** A record that a list has stepped over. `id` is that of its run, or the name of its pipeline. */
export interface Unreadable {
  readonly id: string;
  /** Names the record, and says what cannot be read. */
  readonly why: string;
}

/** AWS will not take this training job as declared; trying again changes nothing. */
export class LaunchRefusedError extends TidewheelError {
  override readonly name = 'LaunchRefusedError';
}

/** Another release made the run's plan, and this release cannot pack the rest of it. The run plans again. */
export class PlanOutdatedError extends TidewheelError {
  override readonly name = 'PlanOutdatedError';
}

/** Shards of the plan are missing after every round of packing. */
export class PackingIncompleteError extends TidewheelError {
  override readonly name = 'PackingIncompleteError';
}

/** The environment of a function lacks what its template gives it. */
export class ConfigurationError extends TidewheelError {
  override readonly name = 'ConfigurationError';
}

/** So many arrivals cannot be read that the service's own permissions are at fault. */
export class UnreadableArrivalsError extends TidewheelError {
  override readonly name = 'UnreadableArrivalsError';
}
