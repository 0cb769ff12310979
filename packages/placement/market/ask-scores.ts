/**
 * Asks for placement scores within the day's limit of new configurations, for the schedule, a placement and a look at
 * a running attempt alike.
 */

import { type FactsOf, scoredFamily } from '@tidewheel/catalog/catalog.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { gangsOf } from '../candidates/topologies.ts';
import {
  type MarketAnswer,
  type MarketSource,
  type PlacementScore,
  type ScoreQuestionStore,
  taken,
} from '../records/market-history.ts';

export interface AskDeps {
  readonly scoreQuestions: ScoreQuestionStore;
  readonly clock: Clock;
}

export interface ScoreAnswer {
  readonly need: ScoreNeed;
  readonly scores: readonly PlacementScore[];
}

/** @param given `market`: of a region by its name */
export async function askScores(
  { market, ...deps }: AskDeps & { readonly market: (region: string) => Pick<MarketSource, 'scores'> },
  needs: readonly ScoreNeed[],
  notes: string[],
): Promise<readonly ScoreAnswer[]> {
  const answers: ScoreAnswer[] = [];
  const known = await questionsOfDay(deps);
  for (const need of needs) {
    const unasked = `scores of ${need.key} are not requested`;
    if (scoredFamily(need.instanceTypes) === undefined) {
      notes.push(`${unasked}: there are no three interchangeable types, and fewer always score low`);
      continue;
    }
    const answer = await askWithinPlan(market(need.region), need, { ...deps, known });
    if (answer === undefined) notes.push(`${unasked}: the day's new questions are used up`);
    else answers.push({ need, scores: taken(`scores of ${need.key}`, answer, notes) });
  }
  return answers;
}

/** AWS does not publish its limit. `collect-scores`, `place` and the look at a running attempt share this one. */
export const QUESTIONS_A_DAY = 20;

const DAY_MILLISECONDS = 86_400_000;

const questionsOfDay = async ({ scoreQuestions, clock }: AskDeps): Promise<Set<string>> => {
  const since = new Date(clock.now().getTime() - DAY_MILLISECONDS).toISOString();
  return new Set((await scoreQuestions.list(since)).map(({ key }) => key));
};

/**
 * AWS limits new configurations per day and answers repeated ones.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-placement-score.html
 * @param given `known`: the day's questions; this one is added to them
 * @returns undefined for a new question while the day's are used up
 */
async function askWithinPlan(
  source: Pick<MarketSource, 'scores'>,
  { key, instanceTypes, nodes }: ScoreNeed,
  { scoreQuestions, clock, known }: AskDeps & { readonly known: Set<string> },
): Promise<MarketAnswer<readonly PlacementScore[]> | undefined> {
  if (!known.has(key) && known.size >= QUESTIONS_A_DAY) return undefined;
  // Recorded before the request: if this function dies, the question still counts.
  await scoreQuestions.put({ key, at: clock.now().toISOString() });
  known.add(key);
  return source.scores(instanceTypes, nodes);
}

/**
 * The same market with its score questions kept within the day's plan. They go one after the other, so that each sees
 * the earlier ones on record.
 */
export function withinPlan<Source extends Pick<MarketSource, 'region' | 'scores'>>(
  source: Source,
  deps: AskDeps & { readonly home: string },
): Source {
  let before: Promise<unknown> = Promise.resolve();
  const ask = async (types: readonly string[], nodes: number): ReturnType<MarketSource['scores']> => {
    if (scoredFamily(types) === undefined) return source.scores(types, nodes);
    const need = needOf({ instanceTypes: types, nodes }, source.region, deps.home);
    const message = `not asked, the day's ${QUESTIONS_A_DAY} new questions are used up`;
    const answer = await askWithinPlan(source, need, { ...deps, known: await questionsOfDay(deps) });
    return answer ?? { kind: 'unknown', failure: 'configurationLimit', message };
  };
  return {
    ...source,
    scores(types: readonly string[], nodes: number) {
      const mine = before.then(() => ask(types, nodes));
      before = mine.catch(() => undefined);
      return mine;
    },
  };
}

export type ScoreNeed = ReturnType<typeof needOf>;

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
function needOf(gang: ReturnType<typeof gangsOf>[number], region: string, home: string) {
  const key = questionKey(gang.instanceTypes, gang.nodes);
  return {
    /** In regions other than the data's own it begins with the region's name. */
    key: region === home ? key : `${region}: ${key}`,
    region,
    instanceTypes: [...new Set(gang.instanceTypes)].sort(),
    /** The gang's real size; the question rounds it up to a power of two. */
    nodes: gang.nodes,
  };
}
