import * as z from 'zod';
import { lambdaHandler, logger } from '../../aws/lambda/lambda-handler.ts';
import * as clients from '../../aws/shared/clients.ts';
import { sageMaker } from '../../aws/shared/compute-clients.ts';
import { config } from '../../aws/shared/config.ts';
import { polledQueue } from '../../aws/sqs/polled-queue.ts';
import { drainHandOvers } from '../../run/models/hand-over.ts';
import { clock, notifier, store, tableStores } from '../../wiring/services.ts';
import { openRegistries } from './open-registries.ts';

export const handler = lambdaHandler('hand-over', z.object({}), async () => {
  const { TIDEWHEEL_REGISTRIES_QUEUE_URL: queueUrl, TIDEWHEEL_STACK: stack } = config.handOver();
  const done = await drainHandOvers({
    ...tableStores(),
    store: store(),
    notifier: notifier(),
    queue: polledQueue(clients.sqs(), queueUrl),
    ...openRegistries({ sageMaker, secrets: clients.secretsManager, fetch, stack }),
    clock,
  });
  if (done.failed.length > 0) logger.error('registries wait for the next try', { failed: done.failed });
  else if (done.notes.length > 0) logger.info('registries', { notes: done.notes });
  return done;
});
