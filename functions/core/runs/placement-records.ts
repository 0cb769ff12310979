/** Records of where an attempt was placed, and why. Times are ISO 8601 in UTC, durations are seconds, and money is USD. */
import type { LauncherName } from '../pipeline/launchers.ts';

/** pool = instance type x availability zone x purchase option x launcher */
export interface Pool {
  /** EC2 name, without `ml.` */
  readonly instanceType: string;
  /** Zone id such as use1-az4, or undefined if SageMaker chooses (no VPC declared). */
  readonly zoneId?: string | undefined;
  readonly purchaseOption: 'spot' | 'on-demand';
  /** Absent in the data bucket's own region. */
  readonly region?: string | undefined;
  readonly launcher: LauncherName;
}

export const samePool = (a: Pool, b: Pool): boolean =>
  a.instanceType === b.instanceType &&
  a.zoneId === b.zoneId &&
  a.purchaseOption === b.purchaseOption &&
  a.region === b.region &&
  a.launcher === b.launcher;

/** The pool's name in sentences. */
export const nameOfPool = ({ instanceType, zoneId }: Pool): string =>
  zoneId === undefined ? instanceType : `${instanceType} in ${zoneId}`;

export interface Topology {
  readonly nodes: number;
  readonly acceleratorsPerNode: number;
  /** CPU nodes that placement added; absent if the pipeline names its groups or has none. */
  readonly helpers?: readonly HelperNodes[] | undefined;
}

export interface HelperNodes {
  /** Name of the instance group. */
  readonly name: string;
  readonly instanceType: string;
  readonly nodes: number;
}

/** One row of the table that explains a placement. */
export interface PoolAssessment {
  readonly pool: Pool;
  /** Spot placement score 1-10 for the whole gang; undefined if none was available. */
  readonly score?: number | undefined;
  /** Price of one node. */
  readonly hourlyUsd: number;
  readonly expectedCostUsd: number;
  readonly expectedSeconds: number;
  /** Chance that the pool has capacity at this moment. */
  readonly chanceNow?: number | undefined;
  /**
   * Mean time until capacity comes where there is none now, and from then until an interruption; undefined if not
   * expected.
   */
  readonly expectedWaitSeconds?: number | undefined;
  readonly expectedUpSeconds?: number | undefined;
  /** Of the gang. */
  readonly topology: Topology;
  /** 90 % interval of the work's duration; absent without an extrapolation. */
  readonly expectedSecondsBetween?: readonly [number, number] | undefined;
  /** Copies of shards and checkpoints to another region, included in the costs and times above. */
  readonly transfer?: Transfer | undefined;
  /** Why the pool was or was not chosen. */
  readonly verdict: string;
}

export interface Transfer {
  readonly gigabytes: number;
  readonly usd: number;
  readonly seconds: number;
  /** Source of the price of a gigabyte. */
  readonly priceNote: string;
}

/** The choice of topology and pool for the next attempt, with the reasons. */
export interface Placement {
  readonly pool: Pool;
  readonly topology: Topology;
  readonly subnetId?: string | undefined;
  /** On-Demand price of one node, for the counterfactual. */
  readonly onDemandHourlyUsd: number;
  /** On-Demand price of all nodes of all helper groups together. */
  readonly helpersHourlyUsd?: number | undefined;
  /** Of all file systems that channels read, where their price is known. */
  readonly fileSystemsHourlyUsd?: number | undefined;
  /** Copies of shards and checkpoints to another region and back, included in the attempt's cost. */
  readonly transfer?: Transfer | undefined;
  /** Expected training seconds of the whole run, from earlier runs if there are any. */
  readonly expectedSeconds?: number | undefined;
  readonly maximumRunSeconds: number;
  /** Spot only: the limit of wait and run together. */
  readonly maximumWaitSeconds?: number | undefined;
  /** Spot only: end of the wait for capacity, the last time for On-Demand to meet the deadline. */
  readonly spotUntil?: string | undefined;
  readonly reason: string;
  /** The record of an attempt keeps the row of its pool alone. */
  readonly considered: readonly PoolAssessment[];
  readonly decidedAt: string;
}

export type PlacementDecision =
  | { readonly kind: 'launch'; readonly placement: Placement }
  | {
      readonly kind: 'wait';
      readonly seconds: number;
      readonly reason: string;
      readonly considered: readonly PoolAssessment[];
    }
  | { readonly kind: 'giveUp'; readonly reason: string; readonly considered: readonly PoolAssessment[] };

/** A decision with the document of its question, which placement's `storedQuestion` reads. */
export type StoredDecision = PlacementDecision & { readonly question: unknown };
