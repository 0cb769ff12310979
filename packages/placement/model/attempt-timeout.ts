import type { Placement } from '../records/placement-records.ts';

/** How long after the job's own limits a waiting execution looks for itself. */
const GRACE_SECONDS = 1_800;
/** An On-Demand job may queue before it runs, as long as slack is left (attempts/stop-rules.ts). */
const QUEUE_LIMIT_SECONDS = 86_400;

/**
 * Every attempt ends by its own limits before this. Events or reconcile report the end; the timeout fires only if both
 * are lost.
 */
export const attemptTimeoutSeconds = ({ pool, maximumWaitSeconds, maximumRunSeconds }: Placement): number => {
  const queueSeconds = pool.purchaseOption === 'spot' ? 0 : QUEUE_LIMIT_SECONDS;
  return (maximumWaitSeconds ?? maximumRunSeconds) + queueSeconds + GRACE_SECONDS;
};
