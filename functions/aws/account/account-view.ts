/** AccountView on the services of one region. */
import {
  GetAccountSettingsCommand,
  type LambdaClient,
  ListEventSourceMappingsCommand,
} from '@aws-sdk/client-lambda';
import {
  DeleteObjectCommand,
  GetBucketNotificationConfigurationCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { GetQueueAttributesCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { AccountView } from '../../check/account-view.ts';
import type { TestObjectDeps } from '../../check/arrivals.ts';
import { look } from './look.ts';
import { type TrainingClients, trainingView } from './training-view.ts';

export interface AccountClients extends TrainingClients {
  readonly lambda: LambdaClient;
  readonly s3: S3Client;
  readonly sqs: SQSClient;
}

export function accountView(clients: AccountClients): AccountView {
  const { lambda, s3 } = clients;
  return {
    ...trainingView(clients),
    concurrency: () =>
      look('lambda:GetAccountSettings', async () => {
        const { AccountLimit } = await lambda.send(new GetAccountSettingsCommand({}));
        const account = AccountLimit?.ConcurrentExecutions ?? 0;
        return { account, unreserved: AccountLimit?.UnreservedConcurrentExecutions ?? account };
      }),
    sendsEvents: (bucket) =>
      look('s3:GetBucketNotification', async () => {
        const sent = await s3.send(new GetBucketNotificationConfigurationCommand({ Bucket: bucket }));
        return sent.EventBridgeConfiguration !== undefined || (sent.QueueConfigurations ?? []).length > 0;
      }),
    readerState: (FunctionName) =>
      look('lambda:ListEventSourceMappings', async () => {
        const { EventSourceMappings = [] } = await lambda.send(
          new ListEventSourceMappingsCommand({ FunctionName }),
        );
        return EventSourceMappings[0]?.State ?? 'missing';
      }),
    messagesIn: (queueUrl) => look('sqs:GetQueueAttributes', () => messagesIn(clients.sqs, queueUrl)),
  };
}

/** A message that failed is hidden until its next try. */
async function messagesIn(sqs: SQSClient, QueueUrl: string): Promise<number> {
  const { Attributes = {} } = await sqs.send(
    new GetQueueAttributesCommand({
      QueueUrl,
      AttributeNames: ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'],
    }),
  );
  return Object.values(Attributes).reduce((sum, count) => sum + Number(count), 0);
}

const BODY = 'The test object of a check. It starts nothing.\n';

export const testObjectIn = (s3: S3Client, bucket: string): Pick<TestObjectDeps, 'put' | 'remove'> => ({
  put: async (key) => {
    await s3.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: BODY }));
  },
  remove: async (key) => {
    await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));
  },
});
