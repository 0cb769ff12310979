/** RunStore on one DynamoDB table; keys and indexes are explained in docs/architecture.md. */
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { RunStore } from '../core/run-store.ts';
import { attemptMethods } from './run-store/attempts.ts';
import { marketHistoryMethods } from './run-store/market-history.ts';
import { pipelineMethods } from './run-store/pipelines.ts';
import { runMethods } from './run-store/runs.ts';
import { storedTable } from './run-store/table.ts';
import { timelineMethods } from './run-store/timeline.ts';

export function dynamoRunStore(dynamo: DynamoDBDocumentClient, tableName: string): RunStore {
  const table = storedTable(dynamo, tableName);
  return {
    ...pipelineMethods(table),
    ...runMethods(table),
    ...attemptMethods(table),
    ...timelineMethods(table),
    ...marketHistoryMethods(table),
  };
}
