/**
 * What placement reads of runs, attempts and the market, and what it decides.
 *
 * Out: schemas and types, which the service's records are made of, and the cost of an attempt. Called by the records, attempts,
 * API and launchers.
 */

export { type AssumedName, assumed } from './model/assumed.ts';
export { attemptTimeoutSeconds } from './model/attempt-timeout.ts';
export { NEXT_LOOK_SECONDS } from './model/next-look.ts';
export { attemptCost, fileSystemsCost, fileSystemsUsd, hoursCost, savedOf } from './records/attempt-cost.ts';
export {
  type AttemptOutcome,
  furthestProgress,
  outcomeSchema,
  type PlatformFault,
  type Progress,
  provenSchema,
  type StartUp,
  type StopReason,
  startUpSchema,
  stopReasonSchema,
} from './records/attempts.ts';
export {
  nameOfPool,
  type Placement,
  type PlacementDecision,
  type Pool,
  type PoolAssessment,
  placementDecisionSchema,
  placementSchema,
  poolAssessmentSchema,
  poolSchema,
  type StoredDecision,
  samePool,
  type Topology,
  topologySchema,
} from './records/placement-records.ts';
export { missSchema, promiseSchema, type RunPromise } from './records/promises.ts';
