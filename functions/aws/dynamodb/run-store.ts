/** RunStore on one DynamoDB table; keys and indexes are explained in docs/architecture.md. */
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { RunStore } from '../../core/runs/run-store.ts';
import { attemptMethods } from './attempts.ts';
import { marketHistoryMethods } from './market-history.ts';
import { pipelineMethods } from './pipelines.ts';
import { runMethods } from './runs.ts';
import { storedTable } from './table.ts';
import { timelineMethods } from './timeline.ts';

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
