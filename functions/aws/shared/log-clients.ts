/** Apart from the other clients, so that a bundle without logs has none. */
import { CloudWatchLogsClient } from '@aws-sdk/client-cloudwatch-logs';
import { perRegion, retry } from './clients.ts';

export const cloudWatchLogsIn = /* @__PURE__ */ perRegion(
  (region) => new CloudWatchLogsClient({ ...retry, region }),
);
