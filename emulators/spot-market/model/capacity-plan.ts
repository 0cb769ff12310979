/** What a market script decides: how many instances of a pool there are, and when that changes. */
import type { MarketPool } from './offers.ts';

/** Seconds of market time since the market was started; before 0 there is plenty. */
export type MarketSecond = number;

export interface CapacityPlan {
  /** Instances of the pool that there are in all, the leased ones included. A whole number, 0 or more. */
  capacityAt(pool: MarketPool, at: MarketSecond): number;
  /** The next moment after `at` when the capacity may be another; undefined when there is none. */
  nextChange(pool: MarketPool, at: MarketSecond): MarketSecond | undefined;
  /** Called when a Spot gang's checkpoint reached S3; true when the plan was changed by it. */
  checkpointSynced?(gang: GangRequest, at: MarketSecond): boolean;
  /** Whether a gang keeps what it holds although its pool has less. Default: none does. */
  spares?(gang: GangRequest, at: MarketSecond): boolean;
  /** Called when a gang lost its capacity. */
  reclaimed?(gang: GangRequest): void;
}

export interface GangRequest {
  readonly owner: string;
  readonly zoneId: string;
}

/** More than any client requests on one machine. */
export const PLENTY = 1_000;
