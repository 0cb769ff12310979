/** A queue of SQS that a schedule looks into: Lambda's own pollers would cost more. */

import { DeleteMessageCommand, ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { PolledQueue } from '../../run/queue-messages.ts';

/** The most that one call gives. */
const BATCH = 10;

export const polledQueue = (sqs: SQSClient, QueueUrl: string): PolledQueue => ({
  receive: async () => {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({
        QueueUrl,
        MaxNumberOfMessages: BATCH,
        MessageSystemAttributeNames: ['ApproximateReceiveCount'],
      }),
    );
    return Messages.flatMap((message) => {
      const { MessageId: messageId, ReceiptHandle: receipt, Body: body = '', Attributes = {} } = message;
      if (messageId === undefined || receipt === undefined) return [];
      return { messageId, receipt, body, receives: Number(Attributes['ApproximateReceiveCount'] ?? 1) };
    });
  },
  delete: async ({ receipt: ReceiptHandle }) => {
    await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
  },
});
