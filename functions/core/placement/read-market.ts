/** Asks the market everything a placement needs, at once; what it does not learn becomes a note, never an error. */
import type { Answer, MarketSource, MarketView } from './port.ts';

export async function readMarket(
  source: MarketSource,
  question: {
    readonly instanceTypes: readonly string[];
    readonly nodes: number;
    readonly spot: boolean;
    /** Types that are only paid for, such as helpers. */
    readonly alsoPriced?: readonly string[];
  },
): Promise<MarketView> {
  const nothing = <T>(): Promise<Answer<readonly T[]>> =>
    Promise.resolve({ kind: 'known', value: [], notes: [] });
  const [scores, spotPrices, onDemandPrices, zones] = await Promise.all([
    question.spot ? source.scores(question.instanceTypes, question.nodes) : nothing<never>(),
    question.spot ? source.spotPrices(question.instanceTypes) : nothing<never>(),
    source.onDemandPrices([...question.instanceTypes, ...(question.alsoPriced ?? [])]),
    source.zones(),
  ]);
  const notes: string[] = [];
  const take = <T>(what: string, answer: Answer<readonly T[]>): readonly T[] => {
    if (answer.kind === 'known') {
      notes.push(...answer.notes);
      return answer.value;
    }
    notes.push(`${what} unknown (${answer.failure}): ${answer.message}`);
    return [];
  };
  return {
    region: source.region,
    scores: take('placement scores', scores),
    spotPrices: take('Spot prices', spotPrices),
    onDemandPrices: take('On-Demand prices', onDemandPrices),
    zones: take('zones', zones),
    notes,
  };
}
