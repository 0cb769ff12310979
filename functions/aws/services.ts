/** The ports on their AWS adapters, for the handlers: each is made when a function asks for it. */
import { makeLauncher } from '../core/launch/launcher.ts';
import type { Clock } from '../core/ports.ts';
import { agentPublisher } from './agent.ts';
import * as clients from './clients.ts';
import { config } from './config.ts';
import { makeFleetService } from './ec2-fleet-service.ts';
import { stepFunctionsExecutions } from './executions.ts';
import { eventBridgeNotifier } from './notifier.ts';
import { s3ObjectStore } from './object-store.ts';
import { dynamoRunStore } from './run-store.ts';
import { eventBridgeSchedules } from './schedules.ts';
import { makeTrainingService } from './training-service.ts';

// Functions, not one object: a bundle holds only the adapters that its handler names.
export const clock: Clock = { now: () => new Date() };
export const runs = () => dynamoRunStore(clients.dynamo(), config.table());
export const store = () => s3ObjectStore(clients.s3(), config.bucket());
export const executions = () => stepFunctionsExecutions(clients.stepFunctions(), config.stateMachineArn());
export const notifier = () => eventBridgeNotifier(clients.eventBridge(), config.eventBus());
export const launcher = () =>
  makeLauncher({
    training: makeTrainingService(clients.sageMaker()),
    fleets: makeFleetService({ ec2: clients.ec2(), store: store(), clock }),
  });
export const publishAgent = () => agentPublisher(store(), config.codeFolder());
export const schedules = () => {
  const { TIDEWHEEL_SCHEDULE_GROUP, TIDEWHEEL_SCHEDULE_ROLE_ARN, TIDEWHEEL_ARRIVALS_QUEUE_ARN } =
    config.schedules();
  return eventBridgeSchedules(clients.scheduler(), {
    groupName: TIDEWHEEL_SCHEDULE_GROUP,
    roleArn: TIDEWHEEL_SCHEDULE_ROLE_ARN,
    queueArn: TIDEWHEEL_ARRIVALS_QUEUE_ARN,
  });
};
