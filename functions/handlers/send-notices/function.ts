import { ref } from '../../../serverless/describe/cloudformation.ts';
import { every, type FunctionDescription } from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const sendNotices: FunctionDescription = {
  description: 'Tells topics and webhooks of declarations what runs do',
  timeoutSeconds: 120,
  environment: { TIDEWHEEL_NOTICES_QUEUE_URL: ref('NoticeDeliveriesQueue') },
  permissions: [
    allow.consume('NoticeDeliveriesQueue'),
    allow.useTable('GetItem', 'PutItem', 'Query'),
    allow.listBucket,
    allow.readObjects('*/runs/*/notices/*'),
    allow.writeObjects('*/runs/*/notices/*'),
    ...allow.noticePermissions,
  ],
  // Lambda's pollers of one more queue would take two of the ten executions of a new account, and cost more.
  events: [every('5 minutes', {})],
};
