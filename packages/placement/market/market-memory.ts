/**
 * Stored values where the market does not answer. When the day's score questions are used up or an API fails, the
 * newest values that `collect-scores` stored stand in, each with its age.
 */
import { type FactsOf, regionOfZone, zonesOfRegion } from '@tidewheel/catalog/catalog.ts';
import { familyOf } from '@tidewheel/declaration/instance-types.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { gangsOf, typesOf } from '../candidates/topologies.ts';
import type {
  MarketSample,
  MarketSampleStore,
  MarketView,
  PlacementScore,
  SpotPrice,
} from '../records/market-history.ts';
import { questionKey } from './ask-scores.ts';

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

const ageSeconds = (sample: MarketSample, now: Date): number =>
  Math.max(0, (now.getTime() - Date.parse(sample.readAt)) / 1_000);

/** The newest score of each zone for each gang, no older than a day. */
export function keptScores(
  samples: readonly MarketSample[],
  { compute, now, hardware }: Pick<MemoryQuestion, 'compute' | 'now' | 'hardware'>,
): readonly PlacementScore[] {
  return gangsOf(compute, hardware).flatMap(({ instanceTypes, nodes }) => {
    const key = questionKey(instanceTypes, nodes);
    const newest = new Map<string, PlacementScore>();
    for (const sample of samples) {
      const score = sample.scores[key];
      const age = ageSeconds(sample, now);
      if (score === undefined || age > SCORE_SECONDS || newest.has(sample.zoneId)) continue;
      newest.set(sample.zoneId, { zoneId: sample.zoneId, score, nodes, ageSeconds: age });
    }
    return [...newest.values()];
  });
}

function keptPrices(samples: readonly MarketSample[], types: readonly string[]): readonly SpotPrice[] {
  const newest = new Map<string, SpotPrice>();
  for (const { zoneId, spotUsd } of samples)
    for (const instanceType of types) {
      const hourlyUsd = spotUsd[instanceType];
      const key = `${instanceType} ${zoneId}`;
      if (hourlyUsd !== undefined && !newest.has(key))
        newest.set(key, { instanceType, zoneId, hourlyUsd, basis: 'quoted' });
    }
  return [...newest.values()];
}

const minutes = (seconds: number): string => `${Math.round(seconds / 60)} min`;

/** Fills in stored values where the market gave none; its own answers stay. */
export function filledFrom(
  samples: readonly MarketSample[],
  view: MarketView,
  question: MemoryQuestion,
): MarketView {
  if (question.compute.purchaseOption === 'on-demand' || samples.length === 0) return view;
  const notes: string[] = [];
  const answered = new Set(view.scores.map(({ nodes }) => nodes));
  const scores = keptScores(samples, question).filter(({ nodes }) => !answered.has(nodes));
  if (scores.length > 0) {
    const ages = scores.map((each) => each.ageSeconds ?? 0);
    notes.push(
      `placement scores kept ${minutes(Math.min(...ages))} to ${minutes(Math.max(...ages))} ago stand in`,
    );
  }
  const live = new Set(
    view.spotPrices.filter(({ basis }) => basis === 'quoted').map(({ instanceType }) => instanceType),
  );
  const missing = typesOf(question.compute, question.hardware).filter((type) => !live.has(type));
  const prices = keptPrices(samples, missing);
  const priced = new Set(prices.map(({ instanceType }) => instanceType));
  if (prices.length > 0)
    notes.push(`Spot prices of ${[...priced].join(', ')} are the last ones kept, up to a week old`);
  return {
    ...view,
    scores: [...view.scores, ...scores],
    spotPrices: [...view.spotPrices.filter(({ instanceType }) => !priced.has(instanceType)), ...prices],
    notes: [...view.notes, ...notes],
  };
}

const named = (zoneId: string, rest: string | number | undefined): string => `${zoneId} ${rest ?? ''}`;

/** Brings a stored view up to date with the samples stored since it was read. */
export function refreshedBy(
  samples: readonly MarketSample[],
  view: MarketView,
  question: MemoryQuestion & { readonly readAt: string },
): MarketView {
  const since = samples.filter((sample) => sample.readAt >= question.readAt);
  const age = Math.max(0, (question.now.getTime() - Date.parse(question.readAt)) / 1_000);
  const scores = keptScores(since, question);
  const prices = keptPrices(since, typesOf(question.compute, question.hardware));
  const scored = new Set(scores.map((each) => named(each.zoneId, each.nodes)));
  const priced = new Set(prices.map((each) => named(each.zoneId, each.instanceType)));
  return {
    ...view,
    scores: [
      ...view.scores
        .filter((each) => !scored.has(named(each.zoneId, each.nodes)))
        .map((each) => ({ ...each, ageSeconds: (each.ageSeconds ?? 0) + age })),
      ...scores,
    ],
    spotPrices: [
      ...view.spotPrices.filter((each) => !priced.has(named(each.zoneId, each.instanceType))),
      ...prices,
    ],
  };
}
