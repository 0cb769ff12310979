import type { Placement } from '../../runs/run-records.ts';

/** How long after the job's own limits a waiting execution looks for itself. */
const GRACE_SECONDS = 1_800;

/**
 * Every attempt ends by its own limits before this. Events or reconcile report the end; the timeout fires only if both
 * are lost.
 */
export const attemptTimeoutSeconds = ({ maximumWaitSeconds, maximumRunSeconds }: Placement): number =>
  (maximumWaitSeconds ?? maximumRunSeconds) + GRACE_SECONDS;
