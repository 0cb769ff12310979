/** The stack's table in an emulator. */
import { readFileSync } from 'node:fs';
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DynamoDBClient,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { parse } from 'yaml';
import * as z from 'zod';
import { dynamoStores } from '../../functions/aws/dynamodb/stores.ts';
import { documentClient } from '../../functions/aws/shared/clients.ts';
import type { Stores } from '../../functions/records/stores.ts';
import { clientConfiguration } from './emulator.ts';

/** The stack's own table, whose name alone is given by a test. */
const { Table } = z
  .object({ Resources: z.object({ Table: z.object({ Properties: z.custom<CreateTableCommandInput>() }) }) })
  .parse(parse(readFileSync('serverless/storage.yml', 'utf8'), { logLevel: 'silent' })).Resources;

export async function makeStores(url: string, table: string): Promise<Stores> {
  const dynamo = new DynamoDBClient(clientConfiguration(url));
  await dynamo.send(
    new CreateTableCommand({
      TableName: table,
      BillingMode: Table.Properties.BillingMode,
      AttributeDefinitions: Table.Properties.AttributeDefinitions,
      KeySchema: Table.Properties.KeySchema,
      GlobalSecondaryIndexes: Table.Properties.GlobalSecondaryIndexes,
    }),
  );
  await waitUntilTableExists(
    { client: dynamo, minDelay: 1, maxDelay: 2, maxWaitTime: 20 },
    { TableName: table },
  );
  return dynamoStores(documentClient(dynamo), table);
}
