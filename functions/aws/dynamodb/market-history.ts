import type { Hardware } from '../../core/catalog/hardware.ts';
import type { ListPrices } from '../../core/catalog/price-list.ts';
import { familyOf } from '../../core/catalog/types/instance-family.ts';
import {
  type HardwareStore,
  type ListPriceStore,
  type MarketSample,
  type MarketSampleStore,
  POOL_OUTCOME_DAYS,
  type PoolOutcome,
  type PoolOutcomeStore,
  QUESTION_DAYS,
  type RequestedScore,
  SAMPLE_DAYS,
  type ScoreQuestionStore,
} from '../../core/runs/market-history.ts';
import { expires, type Item, isOfThisVersion, recordOf, type StoredTable } from './table.ts';

const QUESTIONS = 'QUESTIONS';
const LIST_PRICES = 'LISTPRICES';
const HARDWARE = { pk: 'HARDWARE', sk: 'EC2' };

/** These records can be read or measured again, so those of another release are skipped. */
const recordsOf = <T>(items: readonly Item[]): T[] =>
  items.filter(isOfThisVersion).map((item) => recordOf<T>(item));

/** Sort keys begin with a time, so one range read returns all records since then. */
const since = (table: StoredTable, pk: string, at: string): Promise<Item[]> =>
  table.query({
    KeyConditionExpression: 'pk = :pk AND sk >= :since',
    ExpressionAttributeValues: { ':pk': pk, ':since': at },
  });

export const marketSampleStore = (table: StoredTable): MarketSampleStore => ({
  put: async (sample) => {
    const pk = `MARKET#${sample.family}#${sample.zoneId}`;
    const end = expires(sample.at, SAMPLE_DAYS);
    await table.put({ pk, sk: sample.at, ...sample, expires: end });
    await table.put({ pk: `ZONES#${sample.family}`, sk: sample.zoneId, expires: end });
  },
  list: async (family, zoneId, at) =>
    recordsOf<MarketSample>(await since(table, `MARKET#${family}#${zoneId}`, at)),
  zones: async (family) => {
    const items = await table.query({
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': `ZONES#${family}` },
    });
    return items.map(({ sk }) => String(sk));
  },
});

export const poolOutcomeStore = (table: StoredTable): PoolOutcomeStore => ({
  put: async (met) => {
    const pk = `OUTCOME#${familyOf(met.instanceType)}`;
    const sk = `${met.endedAt}#${met.runId}#${met.attempt}`;
    await table.put({ pk, sk, ...met, expires: expires(met.endedAt, POOL_OUTCOME_DAYS) });
  },
  list: async (family, at) => recordsOf<PoolOutcome>(await since(table, `OUTCOME#${family}`, at)),
});

export const scoreQuestionStore = (table: StoredTable): ScoreQuestionStore => ({
  put: async (question) => {
    await table.put({
      pk: QUESTIONS,
      sk: question.key,
      ...question,
      expires: expires(question.at, QUESTION_DAYS),
    });
  },
  list: async (at) => {
    const items = await table.query({
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': QUESTIONS },
      ConsistentRead: true,
    });
    // TTL deletes late, so older records are also skipped here.
    return recordsOf<RequestedScore>(items).filter((each) => each.at >= at);
  },
});

export const listPriceStore = (table: StoredTable): ListPriceStore => ({
  put: async (prices) => {
    await table.put({ pk: LIST_PRICES, sk: prices.region, ...prices });
  },
  get: async (region) => {
    const item = await table.get({ pk: LIST_PRICES, sk: region });
    return recordsOf<ListPrices>(item ? [item] : [])[0];
  },
});

export const hardwareStore = (table: StoredTable): HardwareStore => ({
  put: async (hardware) => {
    await table.put({ ...HARDWARE, ...hardware });
  },
  get: async () => {
    const item = await table.get(HARDWARE);
    return recordsOf<Hardware>(item ? [item] : [])[0];
  },
});
