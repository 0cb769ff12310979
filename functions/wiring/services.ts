/** The handlers' ports with their AWS adapters, each created on demand. */

import type { Clock } from '@tidewheel/kit/clock.ts';
import { once } from '@tidewheel/kit/once.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import { dynamoStores } from '../aws/dynamodb/stores.ts';
import { eventBridgeNotifier, eventBridgeSchedules } from '../aws/events/event-bridge.ts';
import { dataPath, openObjectStore } from '../aws/s3/open-store.ts';
import * as clients from '../aws/shared/clients.ts';
import { config } from '../aws/shared/config.ts';
import { stepFunctionsExecutions } from '../aws/stepfunctions/executions.ts';

// Functions instead of one object, so that a bundle contains only the adapters that its handler names.
export const clock: Clock = { now: () => new Date() };
export const tableStores = () => dynamoStores(clients.dynamo(), config.table());
export const store = /* @__PURE__ */ once(() => openObjectStore({ bucket: config.bucket() }));
export const executions = () => stepFunctionsExecutions(clients.stepFunctions(), config.stateMachineArn());
export const notifier = () => eventBridgeNotifier(clients.eventBridge(), config.eventBus());
const blobs = async (): Promise<BlobStore> => (await dataPath()).store;
/** Small objects, and the ranges of large ones. */
export const objects = () => ({ store: store(), blobs });
export const schedules = () => {
  const { TIDEWHEEL_SCHEDULE_GROUP, TIDEWHEEL_SCHEDULE_ROLE_ARN, TIDEWHEEL_ARRIVALS_QUEUE_ARN } =
    config.schedules();
  return eventBridgeSchedules(clients.scheduler(), {
    groupName: TIDEWHEEL_SCHEDULE_GROUP,
    roleArn: TIDEWHEEL_SCHEDULE_ROLE_ARN,
    queueArn: TIDEWHEEL_ARRIVALS_QUEUE_ARN,
  });
};
