/**
 * Asks for placement scores within the day's limit of new configurations, for the schedule, a placement and a look at
 * a running attempt alike.
 */

import { type FactsOf, scoredFamily } from '@tidewheel/catalog/catalog.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { gangsOf } from '../candidates/topologies.ts';
import {
  type MarketSample,
  type MarketSource,
  type PlacementScore,
  type RequestedScore,
  type ScoreQuestionStore,
  taken,
} from '../records/market-history.ts';

interface AskDeps {
  readonly scoreQuestions: ScoreQuestionStore;
  /** The market of a region by its name. */
  readonly market: (region: string) => Pick<MarketSource, 'scores'>;
  readonly clock: Clock;
}

export interface ScoreAnswer {
  readonly need: ScoreNeed;
  readonly scores: readonly PlacementScore[];
}

const DAY_MILLISECONDS = 86_400_000;

export async function askScores(
  { scoreQuestions, market, clock }: AskDeps,
  needs: readonly ScoreNeed[],
  notes: string[],
): Promise<readonly ScoreAnswer[]> {
  const now = clock.now();
  const worthAsking = needs.filter(({ key, instanceTypes }) => {
    if (scoredFamily(instanceTypes) !== undefined) return true;
    notes.push(
      `scores of ${key} are not requested: there are no three interchangeable types, and fewer always score low`,
    );
    return false;
  });
  const { ask, left } = planQuestions(worthAsking, await scoreQuestions.list(dayBefore(now)));
  for (const { key } of left)
    notes.push(`scores of ${key} are not requested: the day's new questions are used up`);
  const requested: ScoreAnswer[] = [];
  for (const need of ask) {
    // Recorded before the request: if this function dies, the question still counts.
    await scoreQuestions.put({ key: need.key, at: now.toISOString() });
    const answer = await market(need.region).scores(need.instanceTypes, need.nodes);
    requested.push({ need, scores: taken(`scores of ${need.key}`, answer, notes) });
  }
  return requested;
}

const dayBefore = (now: Date): string => new Date(now.getTime() - DAY_MILLISECONDS).toISOString();

/**
 * The same market with its score questions kept within the day's plan. Questions of the last day may be repeated; new
 * ones are sent only while there is room. They go one after the other, so that each sees the earlier ones on record.
 */
export function withinPlan(
  source: MarketSource,
  { scoreQuestions, clock, home }: Pick<AskDeps, 'scoreQuestions' | 'clock'> & { readonly home: string },
): MarketSource {
  let before: Promise<unknown> = Promise.resolve();
  const ask = async (types: readonly string[], nodes: number): ReturnType<MarketSource['scores']> => {
    if (scoredFamily(types) === undefined) return source.scores(types, nodes);
    const now = clock.now();
    const need = needOf({ instanceTypes: types, nodes }, source.region, home);
    const { left } = planQuestions([need], await scoreQuestions.list(dayBefore(now)));
    if (left.length > 0) {
      const message = `not asked, the day's ${QUESTIONS_A_DAY} new questions are used up`;
      return { kind: 'unknown', failure: 'configurationLimit', message };
    }
    await scoreQuestions.put({ key: need.key, at: now.toISOString() });
    return source.scores(types, nodes);
  };
  return {
    ...source,
    scores(types, nodes) {
      const mine = before.then(() => ask(types, nodes));
      before = mine.catch(() => undefined);
      return mine;
    },
  };
}

/** This moment's answers as samples, so that they combine with stored ones. They are not stored. */
export const samplesOfNow = (requested: readonly ScoreAnswer[], now: Date): readonly MarketSample[] =>
  requested.flatMap(({ need, scores }) =>
    scores.map(({ zoneId, score }) => ({
      family: '',
      zoneId,
      at: now.toISOString(),
      readAt: now.toISOString(),
      scores: { [questionKey(need.instanceTypes, need.nodes)]: score },
      spotUsd: {},
      onDemandUsd: {},
    })),
  );

// Plans which placement-score configurations to ask. AWS limits new configurations per day and answers repeated ones.
// Equal questions are merged, those of the last day come first, and the rest is left out with its reason.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-placement-score.html

export interface ScoreNeed {
  /** Key of the question; in regions other than the data's own it begins with the region's name. */
  readonly key: string;
  readonly region: string;
  readonly instanceTypes: readonly string[];
  /** The gang's real size; the question rounds it up to a power of two. */
  readonly nodes: number;
}

/** AWS does not publish its limit. `collect-scores`, `place` and the look at a running attempt share this one. */
export const QUESTIONS_A_DAY = 20;

/** Equal for every order of types and every gang size that rounds to the same power of two. */
export const questionKey = (types: readonly string[], nodes: number): string =>
  `${2 ** Math.ceil(Math.log2(Math.max(1, nodes)))} x ${[...new Set(types)].sort().join(' ')}`;

/** The regions whose market a placement of this pipeline asks: always its own, and every region that it names. */
export const regionsOf = ({ regions = [] }: Pipeline['compute'], home: string): readonly string[] => [
  ...new Set([home, ...regions.map(({ name }) => name)]),
];

/**
 * One need for each distinct question of the pipelines that may use Spot; the region is part of the question. The most
 * shared come first, and among equals the data's own region.
 * @param given `home`: the data's own region; `hardware`: default: the snapshot's
 */
export function scoreNeeds(
  computes: readonly Pipeline['compute'][],
  { home, hardware }: { readonly home: string; readonly hardware?: FactsOf | undefined },
): readonly ScoreNeed[] {
  const needs = computes
    .filter(({ purchaseOption }) => purchaseOption !== 'on-demand')
    .flatMap((compute) =>
      gangsOf(compute, hardware).flatMap((gang) =>
        regionsOf(compute, home).map((region) => needOf(gang, region, home)),
      ),
    );
  const wanted = Map.groupBy(needs, ({ key }) => key);
  const shared = ({ key }: ScoreNeed): number => wanted.get(key)?.length ?? 0;
  const isAway = ({ region }: ScoreNeed): number => Number(region !== home);
  return [...wanted.values()]
    .flatMap((same) => same.at(-1) ?? [])
    .toSorted((a, b) => shared(b) - shared(a) || isAway(a) - isAway(b) || a.key.localeCompare(b.key));
}

/** The question for one gang in one region. */
function needOf(
  { instanceTypes, nodes }: { readonly instanceTypes: readonly string[]; readonly nodes: number },
  region: string,
  home: string,
): ScoreNeed {
  const key = questionKey(instanceTypes, nodes);
  return {
    key: region === home ? key : `${region}: ${key}`,
    region,
    instanceTypes: [...new Set(instanceTypes)].sort(),
    nodes,
  };
}

/** @param asked those of the last 24 hours, which count against the limit whether or not they come again */
export function planQuestions(
  needs: readonly ScoreNeed[],
  requested: readonly RequestedScore[],
  limit = QUESTIONS_A_DAY,
): { readonly ask: readonly ScoreNeed[]; readonly left: readonly ScoreNeed[] } {
  const known = new Set(requested.map(({ key }) => key));
  const fresh = needs.filter(({ key }) => !known.has(key));
  const room = Math.max(0, limit - known.size);
  return {
    ask: [...needs.filter(({ key }) => known.has(key)), ...fresh.slice(0, room)],
    left: fresh.slice(room),
  };
}
