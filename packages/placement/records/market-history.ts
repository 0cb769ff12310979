/** The market: what placement asks of it, its stored history, and the outcomes of our own attempts. */

import type { Hardware } from '@tidewheel/catalog/hardware.ts';
import type { ReservationKind } from '@tidewheel/catalog/launchers.ts';
import type { ListPrice, ListPrices, TransferPrice } from '@tidewheel/catalog/prices.ts';
import type { Reserved } from '@tidewheel/declaration/pipeline.ts';
import { time } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { poolSchema } from './placement-records.ts';

const byName = z.record(z.string(), z.number()).readonly();

/** Prices and scores of a family in a zone at one time. */
export const marketSampleSchema = z.object({
  /** Instance family, such as g5. */
  family: z.string(),
  zoneId: z.string(),
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
  /** Those in which the family has samples, or had some that expired in this quarter. */
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

// What placement asks of the market. The adapter is functions/aws/market/ec2-market.ts; every failure is a value.

/** Why a value is unknown. Placement continues with the known values and says so. */
export type MarketFailure = 'throttled' | 'configurationLimit' | 'notAuthorised' | 'unavailable';

export type MarketAnswer<T> =
  | { readonly kind: 'known'; readonly value: T; readonly notes: readonly string[] }
  | { readonly kind: 'unknown'; readonly failure: MarketFailure; readonly message: string };

export interface PlacementScore {
  readonly zoneId: string;
  /** 1 to 10, for the whole gang; 10 means likely, not promised. */
  readonly score: number;
  /** How many hosts the request asked for; absent: the score holds for any number. */
  readonly nodes?: number | undefined;
  /** Absent: of this moment. */
  readonly ageSeconds?: number | undefined;
}

export interface SpotPrice {
  readonly instanceType: string;
  readonly zoneId: string;
  /** EC2's price; SageMaker does not publish its Spot price. */
  readonly hourlyUsd: number;
  readonly basis: 'quoted' | 'snapshot';
}

export interface OnDemandPrice {
  readonly instanceType: string;
  /** What SageMaker asks for an hour of training on one instance. */
  readonly hourlyUsd: number;
  readonly basis: 'quoted' | 'listed' | 'other-region' | 'estimated';
  readonly note: string;
  /** EC2's On-Demand price, the base of the Spot discount; undefined when unknown. */
  readonly ec2HourlyUsd?: number | undefined;
  /** How that is known. */
  readonly ec2Note?: string | undefined;
}

export interface Zone {
  /** The same for every account, e.g. use1-az4. */
  readonly zoneId: string;
  /** This account's name for it, e.g. us-east-1c. */
  readonly zoneName: string;
}

/** Capacity that the account has paid for: a Capacity Reservation or Capacity Block of EC2, or a training plan. */
export interface Reservation {
  /** The id of the Capacity Reservation, or the ARN of the training plan. */
  readonly id: string;
  readonly kind: ReservationKind;
  /** EC2's name, without `ml.` */
  readonly instanceType: string;
  readonly zoneId?: string | undefined;
  readonly instances: number;
  /** Those of the instances that nothing uses now. */
  readonly availableInstances: number;
  /** AWS's word, such as active, scheduled or expired. */
  readonly state: string;
  /** A training plan may have several, in their order. ISO 8601; a reservation of no end has none. */
  readonly windows: readonly { readonly startsAt: string; readonly endsAt?: string | undefined }[];
  /** The name of the placement group that it was made inside, which every launch into it joins. */
  readonly placementGroup?: string | undefined;
}

/** What AWS would reserve for a price that is paid at once. */
export interface CapacityOffer
  extends Pick<Reservation, 'windows'>,
    Pick<OfferQuestion, 'kind' | 'instanceType' | 'instances'> {
  /** By which a person buys it. */
  readonly id: string;
  /** Its zone by this account's name, or its id. */
  readonly zone?: string | undefined;
  readonly upfrontUsd: number;
}

export interface OfferQuestion {
  readonly kind: Exclude<ReservationKind, 'capacity-reservation'>;
  readonly instanceType: string;
  readonly instances: number;
  readonly hours: number;
  readonly endsBefore: Date;
}

/** Searches in the data's own region, and buys nothing. */
export type OfferSource = (question: OfferQuestion) => Promise<MarketAnswer<readonly CapacityOffer[]>>;

export interface MarketSource {
  readonly region: string;
  /** One question for the whole family and gang; each zone gets its own score. */
  scores(types: readonly string[], nodes: number): Promise<MarketAnswer<readonly PlacementScore[]>>;
  spotPrices(types: readonly string[]): Promise<MarketAnswer<readonly SpotPrice[]>>;
  zones(): Promise<MarketAnswer<readonly Zone[]>>;
  onDemandPrices(types: readonly string[]): Promise<MarketAnswer<readonly OnDemandPrice[]>>;
}

/** Describes what `compute.reserved` names, in the data's own region; what AWS does not know or answer becomes a note. */
export type ReservationSource = (declared: Reserved) => Promise<{
  readonly reservations: readonly Reservation[];
  readonly notes: readonly string[];
}>;

/** What refreshes the catalog's snapshot; the adapters are functions/aws/market/price-list.ts and instance-types.ts. */
export interface CatalogSource {
  /** SageMaker's On-Demand prices for training. */
  trainingPrices(types: readonly string[], region: string): Promise<MarketAnswer<readonly ListPrice[]>>;
  /** EC2's On-Demand prices. */
  ec2Prices(types: readonly string[], region: string): Promise<MarketAnswer<readonly ListPrice[]>>;
  transferPrices(from: string, others: readonly string[]): Promise<MarketAnswer<readonly TransferPrice[]>>;
  /** Entries as DescribeInstanceTypes gives them in the data's own region, unchecked. */
  instanceTypes(types: readonly string[]): Promise<MarketAnswer<readonly unknown[]>>;
}

/** Everything the market answered, with a note for each missing answer. */
export interface MarketView {
  readonly region: string;
  readonly scores: readonly PlacementScore[];
  readonly spotPrices: readonly SpotPrice[];
  readonly onDemandPrices: readonly OnDemandPrice[];
  readonly zones: readonly Zone[];
  /** Absent where the pipeline declares none. */
  readonly reservations?: readonly Reservation[] | undefined;
  /** Those of the notes that are about them. */
  readonly reservationNotes?: readonly string[] | undefined;
  readonly notes: readonly string[];
}

/** Asks the market for everything a placement needs, in parallel; a failed answer becomes a note, never an error. */
export async function readMarket(
  source: MarketSource,
  question: {
    /** One question of scores each. */
    readonly gangs: readonly { readonly nodes: number; readonly instanceTypes: readonly string[] }[];
    readonly spot: boolean;
    /** Types that are only paid for, such as helpers. */
    readonly alsoPriced?: readonly string[];
  },
): Promise<MarketView> {
  const none: MarketAnswer<readonly never[]> = { kind: 'known', value: [], notes: [] };
  const types = [...new Set(question.gangs.flatMap(({ instanceTypes }) => instanceTypes))];
  const [scores, spotPrices, onDemandPrices, zones] = await Promise.all([
    Promise.all(
      question.gangs.map(async ({ instanceTypes, nodes }) => ({
        nodes,
        answer: question.spot ? await source.scores(instanceTypes, nodes) : none,
      })),
    ),
    question.spot ? source.spotPrices(types) : none,
    source.onDemandPrices([...types, ...(question.alsoPriced ?? [])]),
    source.zones(),
  ]);
  const notes: string[] = [];
  const take = <T>(what: string, answer: MarketAnswer<readonly T[]>): readonly T[] => {
    if (answer.kind === 'known') notes.push(...answer.notes);
    return taken(what, answer, notes);
  };
  return {
    region: source.region,
    scores: scores.flatMap(({ nodes, answer }) =>
      take('placement scores', answer).map((each) => ({ ...each, nodes })),
    ),
    spotPrices: take('Spot prices', spotPrices),
    onDemandPrices: take('On-Demand prices', onDemandPrices),
    zones: take('zones', zones),
    notes,
  };
}

/** The values of an answer; without values, adds a note with the reason. */
export function taken<T>(what: string, answer: MarketAnswer<readonly T[]>, notes: string[]): readonly T[] {
  if (answer.kind === 'known') return answer.value;
  notes.push(`${what} unknown (${answer.failure}): ${answer.message}`);
  return [];
}
