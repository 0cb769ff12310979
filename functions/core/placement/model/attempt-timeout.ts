import type { Placement } from '../../runs/run-records.ts';

/** What a waiting execution allows beyond the job's own limits before it asks for itself. */
const GRACE_SECONDS = 1_800;

/** Every attempt ends by its own limits within this; events or reconcile tell so, and only their loss lets it run out. */
export const attemptTimeoutSeconds = ({ maximumWaitSeconds, maximumRunSeconds }: Placement): number =>
  (maximumWaitSeconds ?? maximumRunSeconds) + GRACE_SECONDS;
