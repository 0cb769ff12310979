/** The AWS clients of the local SageMaker: the services that it stands beside live in the emulator. */
import { CloudWatchClient } from '@aws-sdk/client-cloudwatch';
import { CloudWatchLogsClient } from '@aws-sdk/client-cloudwatch-logs';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { S3Client } from '@aws-sdk/client-s3';
import type { Settings } from './options.ts';

export interface Clients {
  readonly s3: S3Client;
  readonly events: EventBridgeClient;
  readonly logs: CloudWatchLogsClient;
  readonly metrics: CloudWatchClient;
}

export function makeClients(settings: Pick<Settings, 'awsEndpointUrl' | 'region' | 'credentials'>): Clients {
  const common = {
    endpoint: settings.awsEndpointUrl,
    region: settings.region,
    credentials: settings.credentials,
    maxAttempts: 4,
  };
  return {
    s3: new S3Client({ ...common, forcePathStyle: true, requestChecksumCalculation: 'WHEN_REQUIRED' }),
    events: new EventBridgeClient(common),
    logs: new CloudWatchLogsClient(common),
    metrics: new CloudWatchClient(common),
  };
}

export function destroyClients(clients: Clients): void {
  for (const client of Object.values(clients)) client.destroy();
}
