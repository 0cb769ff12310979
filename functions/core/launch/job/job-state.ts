/** Readings of DescribeTrainingJob that more than one decision needs. */
import type { TrainingJobDescription } from './training-service.ts';

/** Only an ended job can be deleted, so Deleting is terminal. An unknown status is not: limits bound the wait. */
const TERMINAL: ReadonlySet<string> = new Set(['Completed', 'Failed', 'Stopped', 'Deleting']);

export const isTerminal = (job: TrainingJobDescription): boolean => TERMINAL.has(job.TrainingJobStatus);

/** A start time or training time proves capacity. `Starting` does not: Spot jobs wait in it. */
export const hasStarted = (job: TrainingJobDescription): boolean =>
  job.TrainingStartTime !== undefined || (job.TrainingTimeInSeconds ?? 0) > 0;

/** Each reclaim by managed Spot leaves one `Interrupted` transition; the job keeps its name and starts again. */
export const interruptionsOf = (job: TrainingJobDescription): number =>
  job.SecondaryStatusTransitions.filter(({ Status }) => Status === 'Interrupted').length;
