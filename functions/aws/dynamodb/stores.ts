/** All stores on one DynamoDB table. docs/architecture.md explains its keys and indexes. */
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Stores } from '../../core/runs/stores.ts';
import { attemptStore } from './attempts.ts';
import {
  hardwareStore,
  listPriceStore,
  marketSampleStore,
  poolOutcomeStore,
  scoreQuestionStore,
} from './market-history.ts';
import { pipelineStore } from './pipelines.ts';
import { placementStore } from './placements.ts';
import { runStore } from './runs.ts';
import { storedTable } from './table.ts';
import { testObjectStore } from './test-objects.ts';
import { timelineStore } from './timeline.ts';

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
  };
}
