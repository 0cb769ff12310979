/** The history of the market, without a database. */

import type { Hardware } from '@tidewheel/catalog/hardware.ts';
import type { ListPrices } from '@tidewheel/catalog/prices.ts';
import { familyOf } from '@tidewheel/declaration/instance-types.ts';
import type {
  HardwareStore,
  ListPriceStore,
  MarketSample,
  MarketSampleStore,
  PoolOutcome,
  PoolOutcomeStore,
  RequestedScore,
  ScoreQuestionStore,
} from '@tidewheel/placement/market.ts';
import { answer, nothing, put } from './records.ts';

export const marketSampleStore = (samples: Map<string, MarketSample>): MarketSampleStore => ({
  put: (sample) => put(samples, `${sample.family} ${sample.zoneId} ${sample.at}`, sample),
  list: (family, zoneId, since) =>
    answer(() =>
      [...samples.values()]
        .filter((each) => each.family === family && each.zoneId === zoneId && each.at >= since)
        .sort((a, b) => (a.at < b.at ? -1 : 1)),
    ),
  zones: (family) =>
    answer(() => {
      const own = [...samples.values()].filter((each) => each.family === family);
      return [...new Set(own.map(({ zoneId }) => zoneId))].sort();
    }),
});

export const poolOutcomeStore = (outcomes: Map<string, PoolOutcome>): PoolOutcomeStore => ({
  put: (met) => put(outcomes, `${met.endedAt} ${met.runId} ${met.attempt}`, met),
  list: (family, since) =>
    answer(() =>
      [...outcomes.values()]
        .filter((each) => familyOf(each.instanceType) === family && each.endedAt >= since)
        .sort((a, b) => (a.endedAt < b.endedAt ? -1 : 1)),
    ),
});

export const scoreQuestionStore = (questions: Map<string, RequestedScore>): ScoreQuestionStore => ({
  put: (question) => put(questions, question.key, question),
  list: (since) => answer(() => [...questions.values()].filter(({ at }) => at >= since)),
});

export const listPriceStore = (listPrices: Map<string, ListPrices>): ListPriceStore => ({
  put: (prices) => put(listPrices, prices.region, prices),
  get: (region) => nothing(listPrices.get(region)),
});

export const hardwareStore = (hardware: Map<string, Hardware>): HardwareStore => ({
  put: (each) => put(hardware, 'ec2', each),
  get: () => nothing(hardware.get('ec2')),
});
