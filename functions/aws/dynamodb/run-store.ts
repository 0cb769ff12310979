/** The close of a batch: it changes a run and its pipeline, both or neither. */
import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { RunNotFoundError, TransientError } from '@tidewheel/kit/errors.ts';
import { notifiedSinceOf } from '../../records/batches.ts';
import { reopened, requestToRecord, stopToRecord } from '../../records/requests.ts';
import {
  FINISHED,
  listedOf,
  type RunRecord,
  type RunRequest,
  runRecordSchema,
} from '../../records/run-records.ts';
import { type Item, RECORDS, recordOf } from '../../records/stored-records.ts';
import type { RunStore, Tell } from '../../records/stores.ts';
import { begunIndex } from './begun.ts';
import { pipelineKey } from './pipelines.ts';
import { type Key, LIST_INDEX, OPEN_INDEX, type StoredTable, updateOf } from './table.ts';

const runKey = (runId: string): Key => ({ pk: `RUN#${runId}`, sk: 'RUN' });

type Close = Parameters<RunStore['closeBatch']>[1];

/** https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html */
const PASSING: ReadonlySet<string> = new Set([
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
]);

const isPassing = ({ Code }: { readonly Code?: string | undefined }): boolean =>
  Code !== undefined && PASSING.has(Code);

function runAfter({ at, declaration, notified, request, source, startedFrom }: Close): Item {
  const notifiedSince = notifiedSinceOf({ closedAt: at, notified });
  return {
    closedAt: at,
    updatedAt: at,
    ...(declaration && { ...withListed({ declaration }), status: 'packing' }),
    ...(notifiedSince !== undefined && { notifiedSince }),
    ...(request && { request }),
    ...(source !== undefined && { source }),
    ...(startedFrom !== undefined && { startedFrom }),
  };
}

function pipelineAfter(
  batch: number,
  { at, seen, notified, declaration }: Close,
): { readonly UpdateExpression: string; readonly ExpressionAttributeValues: Item } {
  const kept = { seen, ...(declaration && { notified }) };
  const set = Object.entries(kept).filter(([, value]) => value !== undefined);
  const removed = Object.entries(kept).filter(([, value]) => value === undefined);
  const expression = [
    [
      'SET openBatch = :next, closedAt = :at, updatedAt = :at',
      ...set.map(([name]) => `${name} = :${name}`),
    ].join(', '),
    ...(removed.length === 0 ? [] : [`REMOVE ${removed.map(([name]) => name).join(', ')}`]),
  ];
  const values = {
    ...Object.fromEntries(set.map(([name, value]) => [`:${name}`, value])),
    ':version': RECORDS.version,
  };
  return {
    UpdateExpression: expression.join(' '),
    ExpressionAttributeValues: { ':next': batch + 1, ':batch': batch, ':at': at, ...values },
  };
}

/**
 * The condition is on the pipeline's open batch, so a second close changes nothing. Another one is on a run that no person
 * had asked for when it was read: a request that came since is not lost.
 */
async function closeBatch(
  table: StoredTable,
  run: Parameters<RunStore['closeBatch']>[0],
  close: Close,
  isAgain = false,
): Promise<void> {
  const isUnrequested = run.request === undefined;
  const { ReturnValues: _, ...runUpdate } = updateOf(runAfter(close), {
    version: RECORDS.version,
    ...(isUnrequested && { request: undefined }),
  });
  try {
    await table.transact([
      { Update: { TableName: table.name, Key: runKey(run.runId), ...runUpdate } },
      {
        Update: {
          TableName: table.name,
          Key: pipelineKey(run.pipeline),
          ConditionExpression: 'openBatch = :batch AND version = :version',
          ...pipelineAfter(run.batch, close),
        },
      },
    ]);
  } catch (error: unknown) {
    const reasons = reasonsOf(error);
    await ensureCurrent(table, run);
    // The only expected failure is that the batch is already closed, or another writer raised its record just now.
    if (reasons[1]?.Code === 'ConditionalCheckFailed')
      return isAgain ? undefined : closeBatch(table, run, close, true);
    const isRequested = isUnrequested && reasons[0]?.Code === 'ConditionalCheckFailed';
    if (!isRequested && !reasons.some(isPassing)) throw error;
    throw new TransientError(`another writer was faster at the close of ${run.runId}`, { cause: error });
  }
}

const reasonsOf = (error: unknown) =>
  error instanceof TransactionCanceledException ? (error.CancellationReasons ?? []) : [];

/** @throws TransientError where a record was of the release before */
async function ensureCurrent(
  table: StoredTable,
  { runId, pipeline }: Parameters<RunStore['closeBatch']>[0],
): Promise<void> {
  const keys = [runKey(runId), pipelineKey(pipeline)];
  const wasRaised = (await Promise.all(keys.map((key) => table.raise(key)))).includes(true);
  if (wasRaised) throw new TransientError(`the records of ${runId} were of the release before`);
}

import type * as z from 'zod';

const listKeyOf = (pipeline: string) => `RUNS#${pipeline}`;
/** Probes are no runs of the pipeline's batches, so its list of runs does not hold them. */
const probesKeyOf = (pipeline: string) => `PROBES#${pipeline}`;

/** What lists show of the declaration is kept beside it. */
const withListed = <Change extends Parameters<typeof listedOf>[0]>(change: Change) =>
  change.declaration === undefined ? change : { ...change, listed: listedOf(change) };

async function runIn(table: StoredTable, runId: string): Promise<RunRecord | undefined> {
  const item = await table.get(runKey(runId));
  return item && recordOf(runRecordSchema, item);
}

async function updated(table: StoredTable, runId: string, change: Item): Promise<Item> {
  const item = await table.update(runKey(runId), change);
  if (item === undefined) throw new RunNotFoundError(runId);
  return item;
}

async function knownIn(table: StoredTable, runId: string): Promise<RunRecord> {
  const run = await runIn(table, runId);
  if (run === undefined) throw new RunNotFoundError(runId);
  return run;
}

const create = async (table: StoredTable, run: RunRecord, indexed: Item): ReturnType<RunStore['create']> =>
  table.create({
    ...runKey(run.runId),
    listKey: (run.probe === undefined ? listKeyOf : probesKeyOf)(run.pipeline),
    ...indexed,
    open: FINISHED.includes(run.status) ? 'KEPT' : 'RUN',
    ...withListed(run),
  });

export function runStore(table: StoredTable): RunStore {
  const get = (runId: string) => runIn(table, runId);
  const known = (runId: string) => knownIn(table, runId);
  const { keysOf, ...begun } = begunIndex(table);
  return {
    ...begun,
    create: async (run) => create(table, run, await keysOf(run)),
    get,
    update: async (runId, change) => {
      const finished = change.status !== undefined && FINISHED.includes(change.status);
      // What persons said of the run stays in the lists.
      const listed = change.declaration && listedOf({ ...(await known(runId)), ...change });
      return recordOf(
        runRecordSchema,
        await updated(table, runId, {
          ...change,
          ...(listed && { listed }),
          ...(finished && { open: 'KEPT' }),
        }),
      );
    },
    annotate: async (run, said) => {
      const listed = listedOf({ ...run, ...said });
      return recordOf(
        runRecordSchema,
        await updated(table, run.runId, { ...said, ...(listed && { listed }) }),
      );
    },
    finish: async ({ runId, retry }, end) => {
      const item = await table.update(runKey(runId), { ...end, open: 'KEPT' }, { retry });
      return item === undefined ? known(runId) : recordOf(runRecordSchema, item);
    },
    reopen: async ({ runId, status, execution, annotation }, change) => {
      const next = reopened(execution, change);
      const item = await table.update(
        runKey(runId),
        { ...next, ...(next.declaration && { listed: listedOf({ ...next, annotation }) }), open: 'RUN' },
        { status, execution },
      );
      return item && recordOf(runRecordSchema, item);
    },
    requestStop: async (runId, request) => requestStop(table, runId, request),
    requestRun: async (runId, request) => requestRun(table, runId, request),
    list: async (pipeline, limit, before, tell) => list(table, listKeyOf(pipeline), { limit, before, tell }),
    listProbes: async (pipeline, limit, before, tell) =>
      list(table, probesKeyOf(pipeline), { limit, before, tell }),
    listOpen: async (tell) => listOpen(table, runRecordSchema, 'RUN', tell),
    listKept: async (tell) => listOpen(table, runRecordSchema, 'KEPT', tell),
    setExpired: async (runId, { expired, isComplete }) => {
      const change = { expired, ...(isComplete && { open: undefined }) };
      if ((await table.update(runKey(runId), change, { open: 'KEPT' })) !== undefined) return;
      // A run that was opened again keeps its files.
      if ((await get(runId)) === undefined) throw new RunNotFoundError(runId);
    },
    closeBatch: async (run, close) => {
      await closeBatch(table, run, close);
      return known(run.runId);
    },
  };
}

async function list(
  table: StoredTable,
  listKey: string,
  {
    before,
    ...page
  }: { readonly limit: number; readonly before: string | undefined; readonly tell: Tell | undefined },
): Promise<RunRecord[]> {
  const input = {
    IndexName: LIST_INDEX,
    KeyConditionExpression: `listKey = :runs${before === undefined ? '' : ' AND pk < :before'}`,
    ExpressionAttributeValues: {
      ':runs': listKey,
      ...(before !== undefined && { ':before': runKey(before).pk }),
    },
    ScanIndexForward: false,
  };
  return table.query(runRecordSchema, input, page);
}

/** Of two requests at once one writes first, and the other one looks again. */
async function requestStop(
  table: StoredTable,
  runId: string,
  request: Parameters<RunStore['requestStop']>[1],
): Promise<RunRecord> {
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const item = await table.get(runKey(runId));
    if (item === undefined) throw new RunNotFoundError(runId);
    const run = recordOf(runRecordSchema, item);
    const stop = stopToRecord(run, request);
    if (stop === undefined) return run;
    const asked = await table.update(
      runKey(runId),
      { stop, updatedAt: request.at },
      { open: 'RUN', execution: run.execution, stop: item['stop'] },
    );
    if (asked !== undefined) return recordOf(runRecordSchema, asked);
  }
  throw new TransientError(`${runId} changes too often to be stopped now: make the same call again`);
}

/** As `requestStop`. A close that was faster finds the condition that the batch is open. */
async function requestRun(
  table: StoredTable,
  runId: string,
  request: RunRequest,
): ReturnType<RunStore['requestRun']> {
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const item = await table.get(runKey(runId));
    if (item === undefined) throw new RunNotFoundError(runId);
    const run = recordOf(runRecordSchema, item);
    const asked = requestToRecord(run, request);
    if (asked.kind !== 'write') return { kind: asked.kind, run };
    const written = await table.update(
      runKey(runId),
      { request: asked.request, trigger: 'api', updatedAt: request.at },
      { closedAt: undefined, stop: undefined, request: item['request'] },
    );
    if (written !== undefined) return { kind: 'write', run: recordOf(runRecordSchema, written) };
  }
  throw new TransientError(`${runId} changes too often to take a request now: make the same call again`);
}

/** Every other look finds the writer that was faster. */
const MOST_LOOKS = 5;

export async function listOpen<Schema extends z.ZodType>(
  table: StoredTable,
  schema: Schema,
  kind: 'RUN' | 'KEPT' | 'ATTEMPT' | 'MODELS',
  tell?: Tell,
): Promise<z.output<Schema>[]> {
  const input = {
    IndexName: OPEN_INDEX,
    KeyConditionExpression: '#open = :kind',
    ExpressionAttributeNames: { '#open': 'open' },
    ExpressionAttributeValues: { ':kind': kind },
  };
  return table.query(schema, input, { tell });
}
