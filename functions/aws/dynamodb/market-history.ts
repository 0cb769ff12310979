import type { Hardware } from '../../core/catalog/hardware.ts';
import type { ListPrices } from '../../core/catalog/price-list.ts';
import {
  type AskedQuestion,
  ENCOUNTER_DAYS,
  type MarketHistory,
  type MarketSample,
  type PoolOutcome,
  QUESTION_DAYS,
  SAMPLE_DAYS,
} from '../../core/runs/market-history.ts';
import { type Item, recordOf, type StoredTable } from './table.ts';

/** DynamoDB's TTL attribute, in seconds since 1970; see TimeToLiveSpecification in serverless/storage.yml. */
const expires = (at: string, days: number): number => Math.floor(Date.parse(at) / 1_000) + days * 86_400;

const QUESTIONS = 'QUESTIONS';
const LIST_PRICES = 'LISTPRICES';
const HARDWARE = { pk: 'HARDWARE', sk: 'EC2' };

/** Not the catalog's: every function's bundle would hold its price tables. */
const familyOf = (instanceType: string): string => instanceType.split('.', 1)[0] ?? instanceType;

function withoutExpiry<T>(item: Item): T {
  const { expires: _, ...rest } = item;
  return recordOf<T>(rest);
}

export function marketHistoryMethods(table: StoredTable): MarketHistory {
  /** Sort keys begin with a time, so that one range read gives all since then. */
  const since = async (pk: string, at: string): Promise<Item[]> =>
    table.query({
      KeyConditionExpression: 'pk = :pk AND sk >= :since',
      ExpressionAttributeValues: { ':pk': pk, ':since': at },
    });
  return {
    putSample: async (sample) => {
      const pk = `MARKET#${sample.family}#${sample.zoneId}`;
      await table.put({ pk, sk: sample.at, ...sample, expires: expires(sample.at, SAMPLE_DAYS) });
    },
    listSamples: async (family, zoneId, at) =>
      (await since(`MARKET#${family}#${zoneId}`, at)).map((item) => withoutExpiry<MarketSample>(item)),
    putEncounter: async (met) => {
      const pk = `OUTCOME#${familyOf(met.instanceType)}`;
      const sk = `${met.endedAt}#${met.runId}#${met.attempt}`;
      await table.put({ pk, sk, ...met, expires: expires(met.endedAt, ENCOUNTER_DAYS) });
    },
    listEncounters: async (family, at) =>
      (await since(`OUTCOME#${family}`, at)).map((item) => withoutExpiry<PoolOutcome>(item)),
    putListPrices: async (prices) => {
      await table.put({ pk: LIST_PRICES, sk: prices.region, ...prices });
    },
    getListPrices: async (region) => {
      const item = await table.get({ pk: LIST_PRICES, sk: region });
      return item && recordOf<ListPrices>(item);
    },
    putHardware: async (hardware) => {
      await table.put({ ...HARDWARE, ...hardware });
    },
    getHardware: async () => {
      const item = await table.get(HARDWARE);
      return item && recordOf<Hardware>(item);
    },
    putQuestion: async (question) => {
      await table.put({
        pk: QUESTIONS,
        sk: question.key,
        ...question,
        expires: expires(question.at, QUESTION_DAYS),
      });
    },
    listQuestions: async (at) => {
      const items = await table.query({
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': QUESTIONS },
        ConsistentRead: true,
      });
      // TTL deletes late, so what is older is left out here as well.
      return items.map((item) => withoutExpiry<AskedQuestion>(item)).filter((each) => each.at >= at);
    },
  };
}
