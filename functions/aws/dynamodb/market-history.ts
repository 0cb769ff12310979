import { hardwareSchema } from '@tidewheel/catalog/hardware.ts';
import { listPricesSchema } from '@tidewheel/catalog/prices.ts';
import { familyOf } from '@tidewheel/declaration/instance-types.ts';
import {
  type HardwareStore,
  type ListPriceStore,
  type MarketSampleStore,
  marketSampleSchema,
  POOL_OUTCOME_DAYS,
  type PoolOutcomeStore,
  poolOutcomeSchema,
  QUESTION_DAYS,
  requestedScoreSchema,
  SAMPLE_DAYS,
  type ScoreQuestionStore,
} from '@tidewheel/placement/market.ts';
import * as z from 'zod';
import { readable } from '../../records/stored-records.ts';
import { expires, type StoredTable } from './table.ts';

const QUESTIONS = 'QUESTIONS';
const LIST_PRICES = 'LISTPRICES';
const HARDWARE = { pk: 'HARDWARE', sk: 'EC2' };

/**
 * Sort keys begin with a time, so one range read returns all records since then. These records can be read or measured
 * again, so those of another release are skipped, and not named.
 */
const since = <Schema extends z.ZodType>(table: StoredTable, schema: Schema, pk: string, at: string) =>
  table.query(schema, {
    KeyConditionExpression: 'pk = :pk AND sk >= :since',
    ExpressionAttributeValues: { ':pk': pk, ':since': at },
  });

const zoneSchema = z.object({ sk: z.string() });

export const marketSampleStore = (table: StoredTable): MarketSampleStore => ({
  put: async (sample) => {
    const pk = `MARKET#${sample.family}#${sample.zoneId}`;
    const end = expires(sample.at, SAMPLE_DAYS);
    await table.put({ pk, sk: sample.at, ...sample, expires: end });
    await table.put({ pk: `ZONES#${sample.family}`, sk: sample.zoneId, expires: end });
  },
  list: async (family, zoneId, at) => since(table, marketSampleSchema, `MARKET#${family}#${zoneId}`, at),
  zones: async (family) => {
    const zones = await table.query(zoneSchema, {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': `ZONES#${family}` },
    });
    return zones.map(({ sk }) => sk);
  },
});

export const poolOutcomeStore = (table: StoredTable): PoolOutcomeStore => ({
  put: async (met) => {
    const pk = `OUTCOME#${familyOf(met.instanceType)}`;
    const sk = `${met.endedAt}#${met.runId}#${met.attempt}`;
    await table.put({ pk, sk, ...met, expires: expires(met.endedAt, POOL_OUTCOME_DAYS) });
  },
  list: async (family, at) => since(table, poolOutcomeSchema, `OUTCOME#${family}`, at),
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
    const questions = await table.query(requestedScoreSchema, {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': QUESTIONS },
      ConsistentRead: true,
    });
    // TTL deletes late, so older records are also skipped here.
    return questions.filter((each) => each.at >= at);
  },
});

export const listPriceStore = (table: StoredTable): ListPriceStore => ({
  put: async (prices) => {
    await table.put({ pk: LIST_PRICES, sk: prices.region, ...prices });
  },
  get: async (region) => {
    const item = await table.get({ pk: LIST_PRICES, sk: region });
    return item && readable(listPricesSchema, item)[0];
  },
});

export const hardwareStore = (table: StoredTable): HardwareStore => ({
  put: async (hardware) => {
    await table.put({ ...HARDWARE, ...hardware });
  },
  get: async () => {
    const item = await table.get(HARDWARE);
    return item && readable(hardwareSchema, item)[0];
  },
});
