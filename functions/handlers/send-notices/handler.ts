import * as z from 'zod';
import { lambdaHandler, logger } from '../../aws/lambda/lambda-handler.ts';
import { noticeChannels } from '../../aws/notices/notice-channels.ts';
import * as clients from '../../aws/shared/clients.ts';
import { config } from '../../aws/shared/config.ts';
import { polledQueue } from '../../aws/sqs/polled-queue.ts';
import { drainNotices } from '../../notices/send-notices.ts';
import { clock, store, tableStores } from '../../wiring/services.ts';

export const handler = lambdaHandler('send-notices', z.object({}), async () => {
  const done = await drainNotices({
    ...tableStores(),
    store: store(),
    queue: polledQueue(clients.sqs(), config.noticesQueueUrl()),
    channels: noticeChannels({ sns: clients.sns(), secrets: clients.secretsManager(), clock }),
    clock,
  });
  if (done.failed.length > 0) logger.error('notices wait for the next try', { failed: done.failed });
  else if (done.notes.length > 0) logger.info('notices', { notes: done.notes });
  return done;
});
