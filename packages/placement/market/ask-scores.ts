/**
 * Asks for placement scores within the day's limit of new configurations, for the schedule, a placement and a look at
 * a running attempt alike.
 */
import { scoredFamily } from '@tidewheel/catalog/catalog.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { type MarketSource, type PlacementScore, taken } from '../model/market-source.ts';
import type { MarketSample, ScoreQuestionStore } from '../records/market-history.ts';
import { needOf, planQuestions, QUESTIONS_A_DAY, questionKey, type ScoreNeed } from './score-plan.ts';

export interface AskDeps {
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
