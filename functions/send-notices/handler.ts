import * as z from 'zod';
import { lambdaHandler, logger } from '../aws/lambda/lambda-handler.ts';
import { clock, store, tableStores } from '../aws/lambda/services.ts';
import { noticeChannels } from '../aws/notices/channels.ts';
import * as clients from '../aws/shared/notice-clients.ts';
import { sendNotices } from '../core/notices/send-notices.ts';

const input = z.object({ Records: z.array(z.object({ messageId: z.string(), body: z.string() })) });

export const handler = lambdaHandler('send-notices', input, async ({ Records }) => {
  const channels = noticeChannels({ sns: clients.sns(), secrets: clients.secretsManager(), clock });
  const { failed, notes } = await sendNotices({ ...tableStores(), store: store(), channels, clock }, Records);
  logger.info('notices', { messages: Records.length, notes, failed });
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
});
