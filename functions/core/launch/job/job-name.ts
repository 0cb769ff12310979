/** A training job is named by what it is: run, attempt, and the installation it belongs to. */
import { createHash } from 'node:crypto';
import { parseRunId } from '../../shared/keys.ts';

/** Longest TrainingJobName that SageMaker takes. */
export const MAXIMUM_JOB_NAME = 63;
const SALT_DIGITS = 6;
const JOB_NAME = /^(.+)-a([1-9]\d*)-([0-9a-f]{6})$/;

/**
 * Tells installations apart: SageMaker keeps the name of an ended job until DeleteTrainingJob, so a stack that was
 * removed and deployed again (with another bucket) would otherwise find its first names taken.
 */
export const jobSaltOf = (bucket: string): string =>
  createHash('sha256').update(bucket).digest('hex').slice(0, SALT_DIGITS);

/** The same three give the same name, so a launch that is tried twice finds its own job. */
export const jobNameOf = (runId: string, attempt: number, salt: string): string =>
  `${runId}-a${attempt}-${salt}`;

/** The run and attempt behind a job's name, or undefined when the job is not ours (or another installation's). */
export function parseJobName(
  jobName: string,
  salt: string,
): { readonly runId: string; readonly attempt: number } | undefined {
  const match = JOB_NAME.exec(jobName);
  const [, runId, attempt, found] = match ?? [];
  if (runId === undefined || attempt === undefined || found !== salt || parseRunId(runId) === undefined)
    return undefined;
  return { runId, attempt: Number(attempt) };
}
