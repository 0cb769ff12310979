/** What is remembered of the market across runs: what it said, time by time, and what our own attempts met there. */

import type { Hardware } from '../catalog/hardware.ts';
import type { ListPrices } from '../catalog/price-list.ts';
import type { LauncherName } from '../pipeline/launchers.ts';

/** One look at a family in a zone. */
export interface MarketSample {
  /** Instance family, such as g5. */
  readonly family: string;
  readonly zoneId: string;
  /** This account's name of the zone, where it could be learned. */
  readonly zoneName?: string | undefined;
  /** ISO 8601, rounded down to the schedule's step: a second look within it replaces the first. */
  readonly at: string;
  /** When AWS was asked, ISO 8601; the sample's age counts from here. */
  readonly readAt: string;
  /** Placement scores 1 to 10 by question (`questionKey`). */
  readonly scores: Readonly<Record<string, number>>;
  /** EC2 Spot price of one instance in USD an hour, by type. */
  readonly spotUsd: Readonly<Record<string, number>>;
  /** SageMaker On-Demand price of one instance in USD an hour, by type. */
  readonly onDemandUsd: Readonly<Record<string, number>>;
}

/** What one attempt met in its pool, whichever pipeline it was of. */
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
  /** Absent when capacity was never had. */
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

/** Samples, pool outcomes and questions leave by themselves after the time that `*_DAYS` says. */
export interface MarketSampleStore {
  put(sample: MarketSample): Promise<void>;
  /** Oldest first. */
  list(family: string, zoneId: string, since: string): Promise<MarketSample[]>;
}

export interface PoolOutcomeStore {
  put(outcome: PoolOutcome): Promise<void>;
  /** Of a family in all zones and markets that ended since then, oldest first. */
  list(family: string, since: string): Promise<PoolOutcome[]>;
}

export interface ScoreQuestionStore {
  put(question: RequestedScore): Promise<void>;
  /** Those requested since then. */
  list(since: string): Promise<RequestedScore[]>;
}

export interface ListPriceStore {
  put(prices: ListPrices): Promise<void>;
  /** The last that were read for the region. */
  get(region: string): Promise<ListPrices | undefined>;
}

export interface HardwareStore {
  put(hardware: Hardware): Promise<void>;
  /** As last read of EC2 in the data's own region. */
  get(): Promise<Hardware | undefined>;
}

/** A month of history is what a placement may look at; a quarter shows a season. */
export const SAMPLE_DAYS = 90;
export const POOL_OUTCOME_DAYS = 90;
export const QUESTION_DAYS = 2;
