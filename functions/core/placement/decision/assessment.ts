/** What a pool is expected to cost, and what that follows from. */
import type { BeliefModel, Outlook } from '../belief/beliefs.ts';
import type { Observation } from '../belief/observation.ts';
import type { PoolRecords } from '../belief/pool-statistics.ts';
import type { Candidate } from '../candidates/pools.ts';
import type { WorkEstimate } from './work.ts';

export interface Assessed {
  readonly candidate: Candidate;
  readonly outlook: Outlook;
  readonly expectedCostUsd: number;
  /** Of a Spot pool that is planned with: the same once its capacity has been given. */
  readonly hadUsd?: number | undefined;
  /** The part of the cost that nobody bills: what the minutes of asking in vain are taken to be worth. */
  readonly askCostUsd?: number | undefined;
  readonly expectedSeconds: number;
  /** Of the work left here, restarts left out: as expected, and so long that it takes more only once in ten times. */
  readonly workSeconds: number;
  readonly safeWorkSeconds: number;
  /** Of an On-Demand pool: by how much its cost is lower because the job can go back to Spot. */
  readonly returnUsd?: number | undefined;
  /**
   * Of a Spot pool: what On-Demand now costs with the way back to it, by each fallback, where a score would tell that it is
   * there; infinite where nothing is planned.
   */
  readonly afterOnDemandUsd?: readonly number[] | undefined;
  /** The last refusals in a row that this very pool gave us, and when. */
  readonly capacityErrors: number;
  /** The last was for a limit of the account, which waiting for capacity does not lift. */
  readonly quota: boolean;
  readonly lastCapacityErrorMilliseconds?: number | undefined;
  /** When capacity of this very pool was last taken from us. */
  readonly lastLossMilliseconds?: number | undefined;
  /** When capacity of any type was last taken from us in its zone, and none has been seen there since. */
  readonly lastZoneLossMilliseconds?: number | undefined;
}

export interface AssessInput {
  readonly model: BeliefModel;
  readonly observations: readonly Observation[];
  /** What the weeks before them say of each pool. */
  readonly records?: PoolRecords | undefined;
  /** Stated for the reference topology; each candidate has its own pace. */
  readonly work: WorkEstimate;
  /** The On-Demand pools that a Spot attempt may fall back on; none where the pipeline allows none. */
  readonly fallbacks: readonly Candidate[];
  /** Until the deadline. */
  readonly secondsLeft: number;
  /** Until the latest safe moment: by then the work is done on Spot, or On-Demand starts with the rest of it. */
  readonly spotSeconds: number;
  readonly nowMilliseconds: number;
  /** What an hour until the end is worth, whatever runs in it. It is part of every expected cost. */
  readonly timeUsd?: number | undefined;
}
