/**
 * Which placement-score configurations are asked. AWS limits new ones a day and answers old ones again, so the set is
 * planned: equal questions are one, those of the last day come first, and what does not fit is left with its reason.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-placement-score.html
 */
import type { FactsOf } from '../../catalog/catalog.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import type { AskedQuestion } from '../../runs/market-history.ts';
import { gangsOf } from '../candidates/topologies.ts';

export interface ScoreNeed {
  /** Of the question as it is asked: in other regions than the data's own it begins with their name. */
  readonly key: string;
  readonly region: string;
  readonly instanceTypes: readonly string[];
  /** Of the gang as it is; the question rounds it up to a power of two. */
  readonly nodes: number;
}

/** AWS does not publish its limit. Whoever asks keeps within it: `collect-scores`, `place`, and a look at a running attempt. */
export const QUESTIONS_A_DAY = 20;

/** The same for every order of types and every gang that is asked for by the same power of two. */
export const questionKey = (types: readonly string[], nodes: number): string =>
  `${2 ** Math.ceil(Math.log2(Math.max(1, nodes)))} x ${[...new Set(types)].sort().join(' ')}`;

/** Where a placement of this pipeline asks the market: at home always, and in every region that it names. */
export const regionsOf = ({ regions = [] }: Pipeline['compute'], home: string): readonly string[] => [
  ...new Set([home, ...regions.map(({ name }) => name)]),
];

export interface Site {
  /** The data's own region. */
  readonly home: string;
  /** Default: the snapshot's. */
  readonly hardware?: FactsOf | undefined;
}

/**
 * One need for each distinct question of the pipelines that may use Spot: a region is a part of the question. Those that
 * most pipelines share come first, and of equal ones the data's own region.
 */
export function scoreNeeds(
  computes: readonly Pipeline['compute'][],
  { home, hardware }: Site,
): readonly ScoreNeed[] {
  const byKey = new Map<string, { readonly need: ScoreNeed; readonly wanted: number }>();
  for (const compute of computes.filter(({ purchaseOption }) => purchaseOption !== 'on-demand'))
    for (const gang of gangsOf(compute, hardware))
      for (const region of regionsOf(compute, home)) {
        const need = needOf(gang, region, home);
        byKey.set(need.key, { need, wanted: (byKey.get(need.key)?.wanted ?? 0) + 1 });
      }
  const isAway = ({ region }: ScoreNeed): number => Number(region !== home);
  return [...byKey.values()]
    .toSorted(
      (a, b) =>
        b.wanted - a.wanted || isAway(a.need) - isAway(b.need) || a.need.key.localeCompare(b.need.key),
    )
    .map(({ need }) => need);
}

/** What is asked of a region for a gang. */
export function needOf(
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

/** @param asked those of the last 24 hours, which count against the limit whether or not they are asked again */
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
