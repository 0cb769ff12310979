/** The market of a decided campaign: one type in one or more zones, whose capacity and scores follow traces. */

import { questionKey } from '../../../functions/core/placement/market/score-plan.ts';
import type { MarketSource } from '../../../functions/core/placement/model/market-source.ts';
import type { MarketSampleStore } from '../../../functions/core/runs/market-history.ts';
import type { Clock } from '../../../functions/core/shared/ports.ts';
import { AT } from '../../../test/support/builders/records.ts';

export const TICK = 600;
export const TYPE = 'p3.2xlarge';
const TYPES = [TYPE];
export const ZONE_IDS = ['use1-az1', 'use1-az2', 'use1-az3', 'use1-az4'];

/** What EC2 says of a zone in a tick, or nothing. */
export type Scores = (tick: number) => number | undefined;

export interface ZoneOfWorld {
  /** Whether it has capacity, tick by tick. */
  readonly trace: readonly boolean[];
  readonly scores: Scores;
}

export interface PricedZone extends ZoneOfWorld {
  readonly zoneId: string;
  readonly spotUsd: number;
}

const known = <T>(value: T) => Promise.resolve({ kind: 'known' as const, value, notes: [] });

export function marketOf(clock: Clock, zones: readonly PricedZone[], onDemandUsd: number): MarketSource {
  const tick = (): number => (clock.now().getTime() - Date.parse(AT)) / 1_000 / TICK;
  return {
    region: 'us-east-1',
    scores: () =>
      known(
        zones.flatMap(({ zoneId, scores }) => {
          const score = scores(tick());
          return score === undefined ? [] : [{ zoneId, score }];
        }),
      ),
    spotPrices: () =>
      known(
        zones.map(({ zoneId, spotUsd }) => ({
          instanceType: TYPE,
          zoneId,
          hourlyUsd: spotUsd,
          basis: 'asked' as const,
        })),
      ),
    onDemandPrices: () =>
      known([
        {
          instanceType: TYPE,
          hourlyUsd: onDemandUsd,
          basis: 'listed' as const,
          note: '',
          ec2HourlyUsd: onDemandUsd,
        },
      ]),
    zones: () => known([]),
  };
}

/** What `collect-scores` does meanwhile. */
export async function sampleMarket(
  {
    marketSamples,
    clock,
    market,
  }: { readonly marketSamples: MarketSampleStore; readonly clock: Clock; readonly market: MarketSource },
  zones: readonly PricedZone[],
): Promise<void> {
  const scores = await market.scores(TYPES, 1);
  for (const { zoneId, spotUsd } of zones) {
    const told =
      scores.kind === 'known' ? scores.value.find((each) => each.zoneId === zoneId)?.score : undefined;
    await marketSamples.put({
      family: 'p3',
      zoneId,
      at: clock.now().toISOString(),
      readAt: clock.now().toISOString(),
      scores: told === undefined ? {} : { [questionKey(TYPES, 1)]: told },
      spotUsd: { [TYPE]: spotUsd },
      onDemandUsd: {},
    });
  }
}
