/** The stored history of the market: samples of prices and scores, and the outcomes of our own attempts. */

import type { Hardware } from '@tidewheel/catalog/hardware.ts';
import type { ListPrices } from '@tidewheel/catalog/prices.ts';
import { time } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { poolSchema } from './placement-records.ts';

const byName = z.record(z.string(), z.number()).readonly();

/** Prices and scores of a family in a zone at one time. */
export const marketSampleSchema = z.object({
  /** Instance family, such as g5. */
  family: z.string(),
  zoneId: z.string(),
  /** This account's name of the zone, if known. */
  zoneName: z.string().optional(),
  /** Rounded down to the schedule's step. A second sample within the step replaces the first. */
  at: time,
  /** Time of AWS's answer. The sample's age counts from here. */
  readAt: time,
  /** Placement scores 1 to 10 by question (`questionKey`). */
  scores: byName,
  /** EC2 Spot price of one instance in USD an hour, by type. */
  spotUsd: byName,
  /** SageMaker On-Demand price of one instance in USD an hour, by type. */
  onDemandUsd: byName,
});
export type MarketSample = Readonly<z.output<typeof marketSampleSchema>>;

/** The outcome of one attempt in its pool, for the placements of all pipelines. */
export const poolOutcomeSchema = poolSchema.extend({
  runId: z.string(),
  attempt: z.number(),
  /** The capacity error was a quota of the account. */
  quota: z.literal(true).optional(),
  nodes: z.number(),
  /** The placement score at the time of the request. */
  score: z.number().optional(),
  requestedAt: time,
  /** Absent if the attempt never had capacity. */
  startedAt: time.optional(),
  endedAt: time,
  /** lost: EC2 reclaimed it; capacityError: none came; kept: the job ended for another reason. */
  end: z.enum(['lost', 'capacityError', 'kept']),
});
export type PoolOutcome = Readonly<z.output<typeof poolOutcomeSchema>>;

/** A configuration of GetSpotPlacementScores in use, with its last request: AWS limits the new ones a day, not the known ones. */
export const requestedScoreSchema = z.object({ key: z.string(), at: time });
export type RequestedScore = Readonly<z.output<typeof requestedScoreSchema>>;

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

/** All stores of the market. */
export interface MarketStores {
  readonly marketSamples: MarketSampleStore;
  readonly poolOutcomes: PoolOutcomeStore;
  readonly scoreQuestions: ScoreQuestionStore;
  readonly listPrices: ListPriceStore;
  readonly hardware: HardwareStore;
}

/** A placement uses at most a month of history. A quarter shows seasons. */
export const SAMPLE_DAYS = 90;
export const POOL_OUTCOME_DAYS = 90;
export const QUESTION_DAYS = 2;
