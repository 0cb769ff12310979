/**
 * Which placement-score configurations are asked. AWS limits new ones a day and answers old ones again, so the set is
 * planned: equal questions are one, those of the last day come first, and what does not fit is left with its reason.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-placement-score.html
 */
import type { Pipeline } from '../pipeline.ts';
import type { AskedQuestion } from './market-history.ts';
import { gangsOf } from './topologies.ts';

export interface ScoreNeed {
  readonly key: string;
  readonly instanceTypes: readonly string[];
  /** Of the gang, rounded up to a power of two. */
  readonly nodes: number;
}

/** AWS does not publish its limit. Beside these, `place` may ask for a pipeline that is newer than the last plan. */
export const QUESTIONS_A_DAY = 20;

/** The same for every order of types and every gang that is asked for by the same power of two. */
export const questionKey = (types: readonly string[], nodes: number): string =>
  `${2 ** Math.ceil(Math.log2(Math.max(1, nodes)))} x ${[...new Set(types)].sort().join(' ')}`;

/** One need for each distinct question of the pipelines that may use Spot. */
export function scoreNeeds(computes: readonly Pipeline['compute'][]): readonly ScoreNeed[] {
  const byKey = new Map<string, { readonly need: ScoreNeed; readonly wanted: number }>();
  for (const compute of computes) {
    if (compute.market === 'on-demand') continue;
    for (const { instanceTypes, nodes } of gangsOf(compute)) {
      const key = questionKey(instanceTypes, nodes);
      const wanted = (byKey.get(key)?.wanted ?? 0) + 1;
      byKey.set(key, { need: { key, instanceTypes: [...new Set(instanceTypes)].sort(), nodes }, wanted });
    }
  }
  return [...byKey.values()]
    .toSorted((a, b) => b.wanted - a.wanted || a.need.key.localeCompare(b.need.key))
    .map(({ need }) => need);
}

/** @param asked of the last 24 hours: they count against the limit whether they are asked again or not */
export function planQuestions(
  needs: readonly ScoreNeed[],
  asked: readonly AskedQuestion[],
  limit = QUESTIONS_A_DAY,
): { readonly ask: readonly ScoreNeed[]; readonly left: readonly ScoreNeed[] } {
  const known = new Set(asked.map(({ key }) => key));
  const fresh = needs.filter(({ key }) => !known.has(key));
  const room = Math.max(0, limit - known.size);
  return {
    ask: [...needs.filter(({ key }) => known.has(key)), ...fresh.slice(0, room)],
    left: fresh.slice(room),
  };
}
