/** Readings of DescribeTrainingJob that more than one decision needs. */
import type { TrainingJobDescription } from './training-service.ts';

/** Deleting counts: only an ended job can be deleted. An unknown status does not: waiting is safe, limits bound it. */
const TERMINAL: ReadonlySet<string> = new Set(['Completed', 'Failed', 'Stopped', 'Deleting']);

export const isTerminal = (job: TrainingJobDescription): boolean => TERMINAL.has(job.TrainingJobStatus);

/** `Starting` proves no capacity: starved Spot jobs sit in it. A start time or training time does. */
export const hasStarted = (job: TrainingJobDescription): boolean =>
  job.TrainingStartTime !== undefined || (job.TrainingTimeInSeconds ?? 0) > 0;

/** Each reclaim by managed Spot leaves one `Interrupted` transition; the job keeps its name and starts again. */
export const interruptionsOf = (job: TrainingJobDescription): number =>
  job.SecondaryStatusTransitions.filter(({ Status }) => Status === 'Interrupted').length;
