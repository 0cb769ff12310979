/** Asks the market for everything a placement needs, in parallel; a failed answer becomes a note, never an error. */
import type { MarketAnswer, MarketSource, MarketView, PlacementScore } from '../model/market-source.ts';

interface Gang {
  readonly nodes: number;
  readonly instanceTypes: readonly string[];
}

export async function readMarket(
  source: MarketSource,
  question: {
    /** One question of scores each. */
    readonly gangs: readonly Gang[];
    readonly spot: boolean;
    /** Types that are only paid for, such as helpers. */
    readonly alsoPriced?: readonly string[];
  },
): Promise<MarketView> {
  const nothing = <T>(): Promise<MarketAnswer<readonly T[]>> =>
    Promise.resolve({ kind: 'known', value: [], notes: [] });
  const types = [...new Set(question.gangs.flatMap(({ instanceTypes }) => instanceTypes))];
  const [scores, spotPrices, onDemandPrices, zones] = await Promise.all([
    Promise.all(question.spot ? question.gangs.map((gang) => scoresOf(source, gang)) : []),
    question.spot ? source.spotPrices(types) : nothing<never>(),
    source.onDemandPrices([...types, ...(question.alsoPriced ?? [])]),
    source.zones(),
  ]);
  const notes: string[] = [];
  const take = <T>(what: string, answer: MarketAnswer<readonly T[]>): readonly T[] => {
    if (answer.kind === 'known') {
      notes.push(...answer.notes);
      return answer.value;
    }
    notes.push(`${what} unknown (${answer.failure}): ${answer.message}`);
    return [];
  };
  return {
    region: source.region,
    scores: scores.flatMap((answer) => take('placement scores', answer)),
    spotPrices: take('Spot prices', spotPrices),
    onDemandPrices: take('On-Demand prices', onDemandPrices),
    zones: take('zones', zones),
    notes,
  };
}

async function scoresOf(
  source: MarketSource,
  { instanceTypes, nodes }: Gang,
): Promise<MarketAnswer<readonly PlacementScore[]>> {
  const answer = await source.scores(instanceTypes, nodes);
  return answer.kind === 'known'
    ? { ...answer, value: answer.value.map((each) => ({ ...each, nodes })) }
    : answer;
}
