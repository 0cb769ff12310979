import { type FunctionDescription, queue } from '../../serverless/describe/function-description.ts';
import * as allow from '../../serverless/describe/permissions.ts';

export const sendNotices: FunctionDescription = {
  description: 'Tells topics and webhooks of declarations what runs do',
  timeoutSeconds: 120,
  permissions: [
    allow.consume('NoticeDeliveriesQueue'),
    allow.useTable('GetItem', 'PutItem', 'Query'),
    allow.listBucket,
    allow.readObjects('*/runs/*/notices/*'),
    allow.writeObjects('*/runs/*/notices/*'),
    ...allow.sendNotices,
  ],
  events: [queue('NoticeDeliveriesQueue', { batchSize: 5, maximumConcurrency: 2 })],
};
