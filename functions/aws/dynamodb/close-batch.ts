/** The close of a batch: it changes a run and its pipeline, both or neither. */
import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { TransientError } from '@tidewheel/kit/errors.ts';
import { notifiedSinceOf } from '../../records/batches.ts';
import { type Item } from '../../records/stored-records.ts';
import type { RunStore } from '../../records/stores.ts';
import { pipelineKey } from './pipelines.ts';
import { type Key, type StoredTable, updateOf } from './table.ts';

export const runKey = (runId: string): Key => ({ pk: `RUN#${runId}`, sk: 'RUN' });

type Close = Parameters<RunStore['closeBatch']>[1];

/** https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html */
const PASSING: ReadonlySet<string> = new Set([
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
]);

const isPassing = ({ Code }: { readonly Code?: string | undefined }): boolean =>
  Code !== undefined && PASSING.has(Code);

function runAfter({ at, declaration, notified, request, source }: Close): Item {
  const notifiedSince = notifiedSinceOf({ closedAt: at, notified });
  return {
    closedAt: at,
    updatedAt: at,
    ...(declaration && { declaration, status: 'packing' }),
    ...(notifiedSince !== undefined && { notifiedSince }),
    ...(request && { request }),
    ...(source !== undefined && { source }),
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
  const values = Object.fromEntries(set.map(([name, value]) => [`:${name}`, value]));
  return {
    UpdateExpression: expression.join(' '),
    ExpressionAttributeValues: { ':next': batch + 1, ':batch': batch, ':at': at, ...values },
  };
}

/**
 * The condition is on the pipeline's open batch, so a second close changes nothing. Another one is on a run that no person
 * had asked for when it was read: a request that came since is not lost.
 */
export async function closeBatch(
  table: StoredTable,
  run: Parameters<RunStore['closeBatch']>[0],
  close: Close,
): Promise<void> {
  const isUnrequested = run.request === undefined;
  const { ReturnValues: _, ...runUpdate } = updateOf(
    runAfter(close),
    isUnrequested ? { request: undefined } : {},
  );
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
    const isRequested = isUnrequested && reasons[0]?.Code === 'ConditionalCheckFailed';
    if (!isRequested && !reasons.some(isPassing)) throw error;
    throw new TransientError(`another writer was faster at the close of ${run.runId}`, { cause: error });
  }
}
