/**
 * Stored values where the market does not answer. When the day's score questions are used up or an API fails, the
 * newest values that `collect-scores` stored stand in, each with its age.
 */
import { type FactsOf, regionOfZone, zonesOfRegion } from '@tidewheel/catalog/catalog.ts';
import { familyOf } from '@tidewheel/declaration/instance-types.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { gangsOf, typesOf } from '../candidates/topologies.ts';
import {
  type MarketSample,
  type MarketSampleStore,
  type MarketSource,
  type MarketView,
  type PlacementScore,
  type SpotPrice,
  taken,
} from '../records/market-history.ts';
import { type AskDeps, questionKey, withinPlan } from './ask-scores.ts';

/** A score is useful for a day at most; prices move more slowly. */
const SCORE_SECONDS = 24 * 3_600;
const PRICE_SECONDS = 7 * 24 * 3_600;

export interface MemoryQuestion {
  readonly compute: Pipeline['compute'];
  /** The region's zone ids; default: all that the snapshot knows. */
  readonly zoneIds?: readonly string[] | undefined;
  readonly region: string;
  readonly now: Date;
  /** Default: the snapshot's. */
  readonly hardware?: FactsOf | undefined;
}

/** Samples of every family and zone that the pipeline may use, newest first. */
export function samplesFor(
  marketSamples: Pick<MarketSampleStore, 'list'>,
  { compute, zoneIds, region, now, hardware }: MemoryQuestion,
): Promise<readonly MarketSample[]> {
  const zones = zoneIds ?? zonesOfRegion(region).filter((zoneId) => regionOfZone(zoneId) === region);
  return samplesOf(marketSamples, typesOf(compute, hardware), zones, now);
}

/** Those of the types' families, newest first, none from after `now`. */
export async function samplesOf(
  marketSamples: Pick<MarketSampleStore, 'list'>,
  types: readonly string[],
  zoneIds: readonly string[],
  now: Date,
): Promise<readonly MarketSample[]> {
  const since = new Date(now.getTime() - PRICE_SECONDS * 1_000).toISOString();
  const until = now.toISOString();
  const families = [...new Set(types.map(familyOf))];
  const lists = await Promise.all(
    families.flatMap((family) => zoneIds.map((zoneId) => marketSamples.list(family, zoneId, since))),
  );
  return lists
    .flat()
    .filter(({ at }) => at <= until)
    .toSorted((a, b) => b.at.localeCompare(a.at));
}

/** The newest score of each zone for each gang, no older than a day. */
export function keptScores(
  samples: readonly MarketSample[],
  { compute, now, hardware }: Pick<MemoryQuestion, 'compute' | 'now' | 'hardware'>,
): readonly PlacementScore[] {
  return gangsOf(compute, hardware).flatMap(({ instanceTypes, nodes }) => {
    const key = questionKey(instanceTypes, nodes);
    const scores = samples.flatMap(({ zoneId, readAt, scores: { [key]: score } }) => {
      const ageSeconds = Math.max(0, (now.getTime() - Date.parse(readAt)) / 1_000);
      return score === undefined || ageSeconds > SCORE_SECONDS ? [] : [{ zoneId, score, nodes, ageSeconds }];
    });
    return firstOf(scores, ({ zoneId }) => zoneId);
  });
}

const keptPrices = (samples: readonly MarketSample[], types: readonly string[]): readonly SpotPrice[] =>
  firstOf(
    samples.flatMap(({ zoneId, spotUsd }) =>
      types.flatMap((instanceType): readonly SpotPrice[] => {
        const hourlyUsd = spotUsd[instanceType];
        return hourlyUsd === undefined ? [] : [{ instanceType, zoneId, hourlyUsd, basis: 'quoted' }];
      }),
    ),
    keyOfPrice,
  );

const keyOfScore = ({ zoneId, nodes }: PlacementScore): string => `${zoneId} ${nodes ?? ''}`;
const keyOfPrice = ({ zoneId, instanceType }: SpotPrice): string => `${zoneId} ${instanceType}`;

/** The first row of each key. */
function firstOf<Row>(rows: readonly Row[], keyOf: (row: Row) => string): readonly Row[] {
  const found = new Map<string, Row>();
  for (const row of rows) if (!found.has(keyOf(row))) found.set(keyOf(row), row);
  return [...found.values()];
}

/** `newer` rows in place of those of the same key. */
function replacedBy<Row>(
  rows: readonly Row[],
  newer: readonly Row[],
  keyOf: (row: Row) => string,
): readonly Row[] {
  const keys = new Set(newer.map(keyOf));
  return [...rows.filter((row) => !keys.has(keyOf(row))), ...newer];
}

const minutes = (seconds: number): string => `${Math.round(seconds / 60)} min`;

/** Fills in stored values where the market gave none; its own answers stay. */
export function filledFrom(
  samples: readonly MarketSample[],
  view: MarketView,
  question: MemoryQuestion,
): MarketView {
  if (question.compute.purchaseOption === 'on-demand' || samples.length === 0) return view;
  const answered = new Set(view.scores.map(({ nodes }) => nodes));
  const scores = keptScores(samples, question).filter(({ nodes }) => !answered.has(nodes));
  const ages = scores.map((each) => each.ageSeconds ?? 0);
  const live = view.spotPrices.filter(({ basis }) => basis === 'quoted');
  const missing = typesOf(question.compute, question.hardware).filter((type) =>
    live.every(({ instanceType }) => instanceType !== type),
  );
  const prices = keptPrices(samples, missing);
  const priced = new Set(prices.map(({ instanceType }) => instanceType));
  return {
    ...view,
    scores: [...view.scores, ...scores],
    spotPrices: replacedBy(view.spotPrices, prices, ({ instanceType }) => instanceType),
    notes: [
      ...view.notes,
      ...(scores.length > 0
        ? [
            `placement scores kept ${minutes(Math.min(...ages))} to ${minutes(Math.max(...ages))} ago stand in`,
          ]
        : []),
      ...(priced.size > 0
        ? [`Spot prices of ${[...priced].join(', ')} are the last ones kept, up to a week old`]
        : []),
    ],
  };
}

/** A stored view at a later time: its scores are older. */
export const agedTo = (view: MarketView, now: Date, readAt: string): MarketView => {
  const age = Math.max(0, (now.getTime() - Date.parse(readAt)) / 1_000);
  return {
    ...view,
    scores: view.scores.map((each) => ({ ...each, ageSeconds: (each.ageSeconds ?? 0) + age })),
  };
};

/** Brings a stored view up to date with the samples stored since it was read. */
export function refreshedBy(
  samples: readonly MarketSample[],
  view: MarketView,
  question: MemoryQuestion & { readonly readAt: string },
): MarketView {
  const { compute, hardware, now, readAt } = question;
  const since = samples.filter((sample) => sample.readAt >= readAt);
  const aged = agedTo(view, now, readAt);
  return {
    ...aged,
    scores: replacedBy(aged.scores, keptScores(since, question), keyOfScore),
    spotPrices: replacedBy(view.spotPrices, keptPrices(since, typesOf(compute, hardware)), keyOfPrice),
  };
}

/** The same view with the scores of this moment, as far as the day's plan of questions allows. */
export async function withScoresOfNow(
  view: MarketView,
  source: Pick<MarketSource, 'region' | 'scores'>,
  { compute, hardware, ...deps }: AskDeps & Pick<MemoryQuestion, 'compute' | 'hardware'>,
): Promise<MarketView> {
  const planned = withinPlan(source, { ...deps, home: source.region });
  const answers = await Promise.all(
    gangsOf(compute, hardware).map(async ({ instanceTypes, nodes }) => {
      const scores = taken('placement scores', await planned.scores(instanceTypes, nodes), []);
      return scores.map((each) => ({ ...each, nodes }));
    }),
  );
  return { ...view, scores: replacedBy(view.scores, answers.flat(), keyOfScore) };
}
