/** The expected cost of a pool, and its inputs. */
import type { BeliefModel, Outlook } from '../belief/beliefs.ts';
import type { Observation } from '../belief/observation.ts';
import type { PoolRecords } from '../belief/pool-statistics.ts';
import type { Candidate } from '../candidates/pools.ts';
import type { WorkEstimate } from './work.ts';

export interface Assessed {
  readonly candidate: Candidate;
  readonly outlook: Outlook;
  readonly expectedCostUsd: number;
  /** For a Spot pool in the plan: the expected cost once its capacity is there. */
  readonly costOnceUpUsd?: number | undefined;
  /** The part of the cost that is not billed: the value of the minutes spent asking without success. */
  readonly askCostUsd?: number | undefined;
  readonly expectedSeconds: number;
  /** Seconds of the remaining work here without restarts: the expectation, and the ninth decile. */
  readonly workSeconds: number;
  readonly safeWorkSeconds: number;
  /** For an On-Demand pool: how much it costs less because the job can return to Spot. */
  readonly returnUsd?: number | undefined;
  /**
   * For a Spot pool with a score: the cost of starting on each On-Demand fallback now and returning to this pool
   * later; infinite where nothing is planned.
   */
  readonly afterOnDemandUsd?: readonly number[] | undefined;
  /** Consecutive capacity errors of this pool, and the time of the last. */
  readonly capacityErrors: number;
  /** The last one was for a quota of the account, which waiting does not lift. */
  readonly quota: boolean;
  readonly lastCapacityErrorMilliseconds?: number | undefined;
  /** When this pool last took capacity from a job. */
  readonly lastLossMilliseconds?: number | undefined;
  /** When its zone last took capacity of any type from a job, if no capacity has been seen there since. */
  readonly lastZoneLossMilliseconds?: number | undefined;
}

export interface AssessInput {
  readonly model: BeliefModel;
  readonly observations: readonly Observation[];
  /** Statistics of each pool over the weeks before the observations. */
  readonly records?: PoolRecords | undefined;
  /** For the reference topology; each candidate has its own throughput. */
  readonly work: WorkEstimate;
  /** The On-Demand pools that a Spot attempt may fall back on; none where the pipeline allows none. */
  readonly fallbacks: readonly Candidate[];
  /** Until the deadline. */
  readonly secondsLeft: number;
  /** Until the latest safe moment, at which On-Demand starts if Spot has not finished the work. */
  readonly spotSeconds: number;
  readonly nowMilliseconds: number;
  /** The value of an hour until the end, whatever runs in it; a part of every expected cost. */
  readonly timeUsd?: number | undefined;
}
