/** The market of a decided campaign: one type in one or more zones, whose capacity and scores follow traces. */

import { questionKey } from '../../../functions/core/placement/market/score-plan.ts';
import type { MarketSampleStore } from '../../../functions/core/placement/market-history.ts';
import type { Clock } from '../../../functions/core/shared/ports.ts';
import type { PricedZone } from '../../../test/support/market/source.ts';
import type { Trace } from '../../../test/support/market/traces.ts';

export const TYPE = 'p3.2xlarge';
export const ZONE_IDS = ['use1-az1', 'use1-az2', 'use1-az3', 'use1-az4'];

/** The score of a zone in a tick, or nothing. */
export type Scores = (tick: number) => number | undefined;

export interface ZoneOfWorld {
  readonly trace: Trace;
  readonly scores: Scores;
}

/** What `collect-scores` does meanwhile. */
export async function sampleMarket(
  samples: MarketSampleStore,
  clock: Clock,
  zones: readonly PricedZone[],
): Promise<void> {
  const at = clock.now().toISOString();
  for (const { zoneId, spotUsd, score } of zones)
    await samples.put({
      family: 'p3',
      zoneId,
      at,
      readAt: at,
      scores: score === undefined ? {} : { [questionKey([TYPE], 1)]: score },
      spotUsd: { [TYPE]: spotUsd },
      onDemandUsd: {},
    });
}
