import type { FunctionDescription } from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const abandonCompaction: FunctionDescription = {
  description: 'Notes on the timeline of a run why its compaction failed',
  timeoutSeconds: 60,
  permissions: [allow.useTable('PutItem')],
};
