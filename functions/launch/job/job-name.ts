/** A training job's name derives from its run, its attempt and the installation. */
import { createHash } from 'node:crypto';
import { parseRunId } from '@tidewheel/contract/bucket-keys.ts';

const SALT_DIGITS = 6;
const JOB_NAME = /^(.+)-a([1-9]\d*)-([0-9a-f]{6})$/;

/**
 * Distinguishes installations. SageMaker keeps the name of an ended job until DeleteTrainingJob, so a stack that is
 * removed and deployed again with another bucket would find its first names in use.
 */
export const jobSaltOf = (bucket: string): string =>
  createHash('sha256').update(bucket).digest('hex').slice(0, SALT_DIGITS);

/** Equal arguments give equal names, so a repeated launch finds its own job. */
export const jobNameOf = (runId: string, attempt: number, salt: string): string =>
  `${runId}-a${attempt}-${salt}`;

/** The run and attempt of a job's name, or undefined for a job of another installation or service. */
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
