/** The table and the bucket of a local region. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { REGION } from '@tidewheel/emulators/region/clients.ts';
import type { Region } from '@tidewheel/emulators/region/region.ts';
import { dynamoStores } from '../../functions/aws/dynamodb/stores.ts';
import { s3ObjectStore } from '../../functions/aws/s3/object-store.ts';
import type { Session } from './session.ts';

export function openStores({
  clients,
  credentials,
  endpoints,
  stack,
}: Region): Pick<Session, 'stores' | 'store'> {
  const dynamo = new DynamoDBClient({ region: REGION, credentials, endpoint: endpoints.aws });
  return {
    stores: dynamoStores(DynamoDBDocumentClient.from(dynamo), stack.table),
    store: s3ObjectStore(clients.s3, stack.bucket),
  };
}
