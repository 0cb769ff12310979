/** Placement scores within the day's plan of questions, whoever asks: the schedule, or a look at a run on demand. */
import type { Clock } from '../ports.ts';
import type { MarketHistory, MarketSample } from './market-history.ts';
import type { Answer, MarketSource, PlacementScore } from './port.ts';
import { planQuestions, questionKey, type ScoreNeed } from './score-plan.ts';

export interface AskDeps {
  readonly runs: Pick<MarketHistory, 'listQuestions' | 'putQuestion'>;
  /** The market of a region by its name. */
  readonly market: (region: string) => Pick<MarketSource, 'scores'>;
  readonly clock: Clock;
}

export interface Asked {
  readonly need: ScoreNeed;
  readonly scores: readonly PlacementScore[];
}

const DAY_MILLISECONDS = 86_400_000;

export async function askScores(
  { runs, market, clock }: AskDeps,
  needs: readonly ScoreNeed[],
  notes: string[],
): Promise<readonly Asked[]> {
  const now = clock.now();
  const since = new Date(now.getTime() - DAY_MILLISECONDS).toISOString();
  const { ask, left } = planQuestions(needs, await runs.listQuestions(since));
  for (const { key } of left)
    notes.push(`scores of ${key} are not asked: the day's new questions are used up`);
  const asked: Asked[] = [];
  for (const need of ask) {
    // On record before it is asked: should this function die, the question still counts.
    await runs.putQuestion({ key: need.key, at: now.toISOString() });
    const answer = await market(need.region).scores(need.instanceTypes, need.nodes);
    asked.push({ need, scores: taken(`scores of ${need.key}`, answer, notes) });
  }
  return asked;
}

/** What a question of this moment has told, in the words of the history but not kept in it. */
export const samplesOfNow = (asked: readonly Asked[], now: Date): readonly MarketSample[] =>
  asked.flatMap(({ need, scores }) =>
    scores.map(({ zoneId, score }) => ({
      family: '',
      zoneId,
      at: now.toISOString(),
      scores: { [questionKey(need.instanceTypes, need.nodes)]: score },
      spotUsd: {},
      onDemandUsd: {},
    })),
  );

/** What is not learned becomes a note. */
export function taken<T>(what: string, answer: Answer<readonly T[]>, notes: string[]): readonly T[] {
  if (answer.kind === 'known') return answer.value;
  notes.push(`${what} unknown (${answer.failure}): ${answer.message}`);
  return [];
}
