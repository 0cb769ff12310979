import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { notifiedSinceOf } from '../../core/runs/batches.ts';
import { FINISHED, type RunRecord } from '../../core/runs/run-records.ts';
import { reopened, stopToRecord } from '../../core/runs/steering.ts';
import type { RunStore } from '../../core/runs/stores.ts';
import { RunNotFoundError, TransientError } from '../../core/shared/errors.ts';
import { pipelineKey } from './pipelines.ts';
import {
  type Item,
  type Key,
  LIST_INDEX,
  OPEN_INDEX,
  recordOf,
  type StoredTable,
  updateOf,
} from './table.ts';

const runKey = (runId: string): Key => ({ pk: `RUN#${runId}`, sk: 'RUN' });
const listKeyOf = (pipeline: string) => `RUNS#${pipeline}`;
/** Probes are no runs of the pipeline's batches, so its list of runs does not hold them. */
const probesKeyOf = (pipeline: string) => `PROBES#${pipeline}`;

export function runStore(table: StoredTable): RunStore {
  const get = async (runId: string) => {
    const item = await table.get(runKey(runId));
    return item && recordOf<RunRecord>(item);
  };
  return {
    create: async (run) =>
      table.create({
        ...runKey(run.runId),
        listKey: (run.probe === undefined ? listKeyOf : probesKeyOf)(run.pipeline),
        open: 'RUN',
        ...run,
      }),
    get,
    update: async (runId, change) => {
      const finished = change.status !== undefined && FINISHED.includes(change.status);
      const item = await table.update(runKey(runId), { ...change, ...(finished && { open: 'KEPT' }) });
      if (item === undefined) throw new RunNotFoundError(runId);
      return recordOf<RunRecord>(item);
    },
    finish: async ({ runId, retry }, end) => {
      const item = await table.update(runKey(runId), { ...end, open: 'KEPT' }, { retry });
      const run = item === undefined ? await get(runId) : recordOf<RunRecord>(item);
      if (run === undefined) throw new RunNotFoundError(runId);
      return run;
    },
    reopen: async ({ runId, status, execution }, change) => {
      const item = await table.update(
        runKey(runId),
        { ...reopened(execution, change), open: 'RUN' },
        { status, execution },
      );
      return item && recordOf<RunRecord>(item);
    },
    requestStop: async (runId, request) => requestStop(table, runId, request),
    list: async (pipeline, limit, before) => list(table, listKeyOf(pipeline), { limit, before }),
    listProbes: async (pipeline, limit, before) => list(table, probesKeyOf(pipeline), { limit, before }),
    listOpen: async () => listOpen<RunRecord>(table, 'RUN'),
    listKept: async () => listOpen<RunRecord>(table, 'KEPT'),
    setExpired: async (runId, { expired, isComplete }) => {
      const change = { expired, ...(isComplete && { open: undefined }) };
      if ((await table.update(runKey(runId), change, { open: 'KEPT' })) !== undefined) return;
      // A run that was opened again keeps its files.
      if ((await get(runId)) === undefined) throw new RunNotFoundError(runId);
    },
    closeBatch: async (run, close) => {
      await closeBatch(table, run, close);
      const closed = await get(run.runId);
      if (closed === undefined) throw new RunNotFoundError(run.runId);
      return closed;
    },
  };
}

async function list(
  table: StoredTable,
  listKey: string,
  { limit, before }: { readonly limit: number; readonly before: string | undefined },
): Promise<RunRecord[]> {
  const items = await table.query(
    {
      IndexName: LIST_INDEX,
      KeyConditionExpression: `listKey = :runs${before === undefined ? '' : ' AND pk < :before'}`,
      ExpressionAttributeValues: {
        ':runs': listKey,
        ...(before !== undefined && { ':before': runKey(before).pk }),
      },
      ScanIndexForward: false,
    },
    limit,
  );
  return items.map((item) => recordOf<RunRecord>(item));
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
    const run = recordOf<RunRecord>(item);
    const stop = stopToRecord(run, request);
    if (stop === undefined) return run;
    const asked = await table.update(
      runKey(runId),
      { stop, updatedAt: request.at },
      { open: 'RUN', execution: run.execution, stop: item['stop'] },
    );
    if (asked !== undefined) return recordOf<RunRecord>(asked);
  }
  throw new TransientError(`${runId} changes too often to be stopped now: make the same call again`);
}

/** Every other look finds the writer that was faster. */
const MOST_LOOKS = 5;

export async function listOpen<T>(table: StoredTable, kind: 'RUN' | 'KEPT' | 'ATTEMPT'): Promise<T[]> {
  const items: Item[] = await table.query({
    IndexName: OPEN_INDEX,
    KeyConditionExpression: '#open = :kind',
    ExpressionAttributeNames: { '#open': 'open' },
    ExpressionAttributeValues: { ':kind': kind },
  });
  return items.map((item) => recordOf<T>(item));
}

/** https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html */
const PASSING: ReadonlySet<string> = new Set([
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
]);

function pipelineAfter(
  batch: number,
  { at, seen, notified, declaration }: Parameters<RunStore['closeBatch']>[1],
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
  const values = Object.fromEntries(set.map(([name, value]) => [`:${name}`, value]));
  return {
    UpdateExpression: expression.join(' '),
    ExpressionAttributeValues: { ':next': batch + 1, ':batch': batch, ':at': at, ...values },
  };
}

/** The condition is on the pipeline's open batch, so a second close changes nothing. */
async function closeBatch(
  table: StoredTable,
  run: { readonly runId: string; readonly pipeline: string; readonly batch: number },
  close: Parameters<RunStore['closeBatch']>[1],
): Promise<void> {
  const notifiedSince = notifiedSinceOf({ closedAt: close.at, notified: close.notified });
  const change = {
    closedAt: close.at,
    updatedAt: close.at,
    ...(close.declaration && { declaration: close.declaration }),
    ...(notifiedSince !== undefined && { notifiedSince }),
  };
  const { ReturnValues: _, ...runUpdate } = updateOf({
    ...change,
    ...(close.declaration && { status: 'packing' }),
  });
  try {
    await table.transact([
      { Update: { TableName: table.name, Key: runKey(run.runId), ...runUpdate } },
      {
        Update: {
          TableName: table.name,
          Key: pipelineKey(run.pipeline),
          ConditionExpression: 'openBatch = :batch',
          ...pipelineAfter(run.batch, close),
        },
      },
    ]);
  } catch (error: unknown) {
    const reasons = error instanceof TransactionCanceledException ? (error.CancellationReasons ?? []) : [];
    // The only expected failure is that the batch is already closed.
    if (reasons[1]?.Code === 'ConditionalCheckFailed') return;
    if (!reasons.some(({ Code }) => Code !== undefined && PASSING.has(Code))) throw error;
    throw new TransientError(`another writer was faster at the close of ${run.runId}`, { cause: error });
  }
}
