/** What placement asks of a market, answered at once. */
import type { MarketAnswer, MarketSource, MarketView } from '@tidewheel/placement/market.ts';

const known = <T>(value: T): Promise<MarketAnswer<T>> => Promise.resolve({ kind: 'known', value, notes: [] });

/** @param view is called for every answer: a market may change with time */
export const marketSource = (view: () => MarketView): MarketSource => ({
  region: view().region,
  scores: () => known(view().scores),
  spotPrices: () => known(view().spotPrices),
  onDemandPrices: () => known(view().onDemandPrices),
  zones: () => known(view().zones),
});

export interface PricedZone {
  readonly zoneId: string;
  readonly spotUsd: number;
  /** Absent where EC2 gives none. */
  readonly score?: number | undefined;
}

/** One instance type in us-east-1. USD an hour. */
export const viewOf = (
  instanceType: string,
  zones: readonly PricedZone[],
  { onDemandUsd, ec2Usd = onDemandUsd }: { readonly onDemandUsd: number; readonly ec2Usd?: number },
): MarketView => ({
  region: 'us-east-1',
  scores: zones.flatMap(({ zoneId, score }) => (score === undefined ? [] : [{ zoneId, score }])),
  spotPrices: zones.map(({ zoneId, spotUsd }) => ({
    instanceType,
    zoneId,
    hourlyUsd: spotUsd,
    basis: 'quoted',
  })),
  onDemandPrices: [{ instanceType, hourlyUsd: onDemandUsd, basis: 'listed', note: '', ec2HourlyUsd: ec2Usd }],
  zones: zones.map(({ zoneId }) => ({ zoneId, zoneName: `us-east-1${zoneId.at(-1)}` })),
  notes: [],
});
