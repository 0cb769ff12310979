/** All stores on one DynamoDB table. docs/architecture.md explains its keys and indexes. */

import { gunzipSync, gzipSync } from 'node:zlib';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { hardwareSchema } from '@tidewheel/catalog/hardware.ts';
import { listPricesSchema } from '@tidewheel/catalog/prices.ts';
import { familyOf } from '@tidewheel/declaration/instance-types.ts';
import { RunNotFoundError } from '@tidewheel/kit/errors.ts';
import { time } from '@tidewheel/kit/fields.ts';
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
import { placementDecisionSchema, type StoredDecision } from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import { pipelineModelsSchema } from '../../records/models.ts';
import { attemptRecordSchema, timelineEntrySchema } from '../../records/run-records.ts';
import { readable, recordOf } from '../../records/stored-records.ts';
import type {
  AttemptStore,
  ModelStore,
  PlacementStore,
  StoredPlacement,
  Stores,
  TestObjectStore,
  TimelineStore,
} from '../../records/stores.ts';
import { pipelineStore } from './pipelines.ts';
import { listOpen, runStore } from './run-store.ts';
import { expires, type Key, type StoredTable, storedTable } from './table.ts';

export function dynamoStores(dynamo: DynamoDBDocumentClient, tableName: string): Stores {
  const table = storedTable(dynamo, tableName);
  return {
    pipelines: pipelineStore(table),
    runs: runStore(table),
    attempts: attemptStore(table),
    placements: placementStore(table),
    timeline: timelineStore(table),
    marketSamples: marketSampleStore(table),
    poolOutcomes: poolOutcomeStore(table),
    scoreQuestions: scoreQuestionStore(table),
    listPrices: listPriceStore(table),
    hardware: hardwareStore(table),
    testObjects: testObjectStore(table),
    models: modelStore(table),
  };
}

const numbered = (attempt: number) => String(attempt).padStart(4, '0');
const attemptKey = (runId: string, attempt: number): Key => ({
  pk: `RUN#${runId}`,
  sk: `ATTEMPT#${numbered(attempt)}`,
});
/** Names the attempt that a job belongs to. */
const namedSchema = attemptRecordSchema.pick({ runId: true, attempt: true });
const jobKey = (jobName: string): Key => ({ pk: `JOB#${jobName}`, sk: 'JOB' });

function attemptStore(table: StoredTable): AttemptStore {
  const get = async (runId: string, attempt: number) => {
    const item = await table.get(attemptKey(runId, attempt));
    return item && recordOf(attemptRecordSchema, item);
  };
  return {
    // The item that maps the job's name to the attempt comes first, so that every attempt can be found by its job.
    create: async (attempt) => {
      const { runId, attempt: number, jobName } = attempt;
      await table.put({ ...jobKey(jobName), runId, attempt: number });
      return table.create({ ...attemptKey(runId, number), open: 'ATTEMPT', ...attempt });
    },
    get,
    update: async (runId, attempt, change) => {
      const ended = change.outcome !== undefined;
      const item = await table.update(attemptKey(runId, attempt), {
        ...change,
        ...(ended && { open: undefined }),
      });
      if (item === undefined) throw new RunNotFoundError(`${runId}, attempt ${attempt}`);
      return recordOf(attemptRecordSchema, item);
    },
    list: async (runId) => table.queryPrefix(attemptRecordSchema, `RUN#${runId}`, 'ATTEMPT#'),
    findByJob: async (jobName) => {
      const job = await table.get(jobKey(jobName));
      if (job === undefined) return undefined;
      const { runId, attempt } = recordOf(namedSchema, job);
      return get(runId, attempt);
    },
    listOpen: async (tell) => listOpen(table, attemptRecordSchema, 'ATTEMPT', tell),
  };
}

function placementStore(table: StoredTable): PlacementStore {
  const keyOf = (runId: string, attempt: number): Key => ({
    pk: `RUN#${runId}`,
    sk: `PLACEMENT#${String(attempt).padStart(4, '0')}`,
  });
  return {
    put: async (runId, attempt, decision) => {
      await table.put({ ...keyOf(runId, attempt), ...packed(attempt, decision) });
    },
    get: async (runId, attempt) => {
      const item = await table.get(keyOf(runId, attempt));
      return item && unpacked(recordOf(packedSchema, item));
    },
    list: async (runId) =>
      (await table.queryPrefix(packedSchema, `RUN#${runId}`, 'PLACEMENT#')).map(unpacked),
  };
}

/** An item holds 400 KB. A decision's table takes 30 KB; markets of many regions and types can exceed the rest. */
const LARGEST_QUESTION = 200_000;

const packedSchema = z.object({
  attempt: z.number().int(),
  decision: placementDecisionSchema,
  question: z.unknown().optional(),
  /** The gzipped JSON of a large question, in its place. */
  packedQuestion: z.instanceof(Uint8Array).optional(),
});
type PackedItem = z.output<typeof packedSchema>;

function packed(attempt: number, { question, ...decision }: StoredDecision): PackedItem {
  const text = JSON.stringify(question);
  return text.length <= LARGEST_QUESTION
    ? { attempt, decision, question }
    : { attempt, decision, packedQuestion: gzipSync(text) };
}

function unpacked({ attempt, decision, packedQuestion, question: plain }: PackedItem): StoredPlacement {
  const question: unknown =
    packedQuestion === undefined ? plain : JSON.parse(gunzipSync(packedQuestion).toString());
  return { attempt, decision: { ...decision, question } };
}

function timelineStore(table: StoredTable): TimelineStore {
  return {
    add: async (runId, entry) => {
      await table.create({ pk: `RUN#${runId}`, sk: `TIMELINE#${entry.id}`, ...entry });
    },
    list: async (runId) =>
      (await table.queryPrefix(timelineEntrySchema, `RUN#${runId}`, 'TIMELINE#')).sort((a, b) =>
        a.at < b.at ? -1 : a.at > b.at ? 1 : 0,
      ),
  };
}

const takenSchema = z.object({ at: time });
const keyOf = (id: string): Key => ({ pk: 'TESTOBJECT', sk: id });

const testObjectStore = (table: StoredTable): TestObjectStore => ({
  setTaken: async (id, at) => {
    await table.put({ ...keyOf(id), at, expires: expires(at, 1) });
  },
  takenAt: async (id) => {
    const item = await table.get(keyOf(id));
    return item && recordOf(takenSchema, item).at;
  },
});

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

const marketSampleStore = (table: StoredTable): MarketSampleStore => ({
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

const poolOutcomeStore = (table: StoredTable): PoolOutcomeStore => ({
  put: async (met) => {
    const pk = `OUTCOME#${familyOf(met.instanceType)}`;
    const sk = `${met.endedAt}#${met.runId}#${met.attempt}`;
    await table.put({ pk, sk, ...met, expires: expires(met.endedAt, POOL_OUTCOME_DAYS) });
  },
  list: async (family, at) => since(table, poolOutcomeSchema, `OUTCOME#${family}`, at),
});

const scoreQuestionStore = (table: StoredTable): ScoreQuestionStore => ({
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

const listPriceStore = (table: StoredTable): ListPriceStore => ({
  put: async (prices) => {
    await table.put({ pk: LIST_PRICES, sk: prices.region, ...prices });
  },
  get: async (region) => {
    const item = await table.get({ pk: LIST_PRICES, sk: region });
    return item && readable(listPricesSchema, item)[0];
  },
});

const hardwareStore = (table: StoredTable): HardwareStore => ({
  put: async (hardware) => {
    await table.put({ ...HARDWARE, ...hardware });
  },
  get: async () => {
    const item = await table.get(HARDWARE);
    return item && readable(hardwareSchema, item)[0];
  },
});

const modelsKey = (pipeline: string): Key => ({ pk: `PIPELINE#${pipeline}`, sk: 'MODELS' });

/** A put that names the number before is the decision. */
const modelStore = (table: StoredTable): ModelStore => ({
  get: async (pipeline) => {
    const item = await table.get(modelsKey(pipeline));
    return item && recordOf(pipelineModelsSchema, item);
  },
  put: async (models, before) => {
    const item = { ...models, open: 'MODELS' };
    if (before === undefined)
      return (await table.create({ ...modelsKey(models.pipeline), ...item })) === 'created';
    return (await table.update(modelsKey(models.pipeline), item, { number: before })) !== undefined;
  },
  setPublished: async (pipeline, number) =>
    (await table.update(modelsKey(pipeline), { news: [], open: undefined }, { number })) !== undefined,
  listUnpublished: (tell) => listOpen(table, pipelineModelsSchema, 'MODELS', tell),
});
