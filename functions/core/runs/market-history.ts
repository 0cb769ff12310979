/** The stored history of the market: samples of prices and scores, and the outcomes of our own attempts. */

import type { Hardware } from '../catalog/hardware.ts';
import type { ListPrices } from '../catalog/price-list.ts';
import type { LauncherName } from '../pipeline/launchers.ts';

/** Prices and scores of a family in a zone at one time. */
export interface MarketSample {
  /** Instance family, such as g5. */
  readonly family: string;
  readonly zoneId: string;
  /** This account's name of the zone, if known. */
  readonly zoneName?: string | undefined;
  /** ISO 8601, rounded down to the schedule's step. A second sample within the step replaces the first. */
  readonly at: string;
  /** Time of AWS's answer, ISO 8601. The sample's age counts from here. */
  readonly readAt: string;
  /** Placement scores 1 to 10 by question (`questionKey`). */
  readonly scores: Readonly<Record<string, number>>;
  /** EC2 Spot price of one instance in USD an hour, by type. */
  readonly spotUsd: Readonly<Record<string, number>>;
  /** SageMaker On-Demand price of one instance in USD an hour, by type. */
  readonly onDemandUsd: Readonly<Record<string, number>>;
}

/** The outcome of one attempt in its pool, for the placements of all pipelines. */
export interface PoolOutcome {
  readonly runId: string;
  readonly attempt: number;
  readonly instanceType: string;
  readonly zoneId?: string | undefined;
  readonly purchaseOption: 'spot' | 'on-demand';
  /** Absent in the data's own region. */
  readonly region?: string | undefined;
  readonly launcher: LauncherName;
  /** The capacity error was a quota of the account. */
  readonly quota?: true | undefined;
  readonly nodes: number;
  /** The placement score at the time of the request. */
  readonly score?: number | undefined;
  readonly requestedAt: string;
  /** Absent if the attempt never had capacity. */
  readonly startedAt?: string | undefined;
  readonly endedAt: string;
  /** lost: EC2 reclaimed it; capacityError: none came; kept: the job ended for another reason. */
  readonly end: 'lost' | 'capacityError' | 'kept';
}

/** A configuration of GetSpotPlacementScores in use: AWS limits the new ones a day, not the known ones. */
export interface RequestedScore {
  readonly key: string;
  /** Time of the last request, ISO 8601. */
  readonly at: string;
}

/** Samples, pool outcomes and score requests expire after the time in `*_DAYS`. */
export interface MarketSampleStore {
  put(sample: MarketSample): Promise<void>;
  /** Oldest first. */
  list(family: string, zoneId: string, since: string): Promise<MarketSample[]>;
  /** Of which the family has samples, or had some that expired in this quarter. */
  zones(family: string): Promise<string[]>;
}

export interface PoolOutcomeStore {
  put(outcome: PoolOutcome): Promise<void>;
  /** Outcomes of a family in all zones and purchase options that ended since then, oldest first. */
  list(family: string, since: string): Promise<PoolOutcome[]>;
}

export interface ScoreQuestionStore {
  put(question: RequestedScore): Promise<void>;
  /** Those requested since then. */
  list(since: string): Promise<RequestedScore[]>;
}

export interface ListPriceStore {
  put(prices: ListPrices): Promise<void>;
  /** The region's last prices. */
  get(region: string): Promise<ListPrices | undefined>;
}

export interface HardwareStore {
  put(hardware: Hardware): Promise<void>;
  /** The last answer of EC2 in the data's own region. */
  get(): Promise<Hardware | undefined>;
}

/** A placement uses at most a month of history. A quarter shows seasons. */
export const SAMPLE_DAYS = 90;
export const POOL_OUTCOME_DAYS = 90;
export const QUESTION_DAYS = 2;
