/** The queue of events that targets of declarations wait for. */
import { DeleteMessageCommand, ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { NoticeQueue } from '../../core/notices/drain-notices.ts';

/** The most that one call gives. */
const BATCH = 10;

export const noticeQueue = (sqs: SQSClient, QueueUrl: string): NoticeQueue => ({
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
