/**
 * What placement reads of runs, attempts and the market, and what it decides.
 *
 * Out: schemas and types, which the service's records are made of, and the cost of an attempt. Called by the records, attempts,
 * API and launchers.
 */

export { type AssumedName, assumed, dollars, hours, NEXT_LOOK_SECONDS } from './model/assumed.ts';
export {
  type AttemptOutcome,
  attemptCost,
  fileSystemsCost,
  fileSystemsUsd,
  hoursCost,
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
  asSelected,
  missSchema,
  namedPools,
  nameOfPool,
  nameOfReservation,
  type Placement,
  type PlacementDecision,
  type Pool,
  type PoolAssessment,
  placementDecisionSchema,
  placementSchema,
  poolAssessmentSchema,
  poolSchema,
  promiseSchema,
  requestedAs,
  type StoredDecision,
  samePool,
  type Topology,
  topologySchema,
} from './records/placement-records.ts';
