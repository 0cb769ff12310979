/** The ports on their AWS adapters, for the handlers: each is made when a function first asks for it. */
import type { Clock } from '../core/ports.ts';
import { agentPublisher } from './agent.ts';
import { clients } from './clients.ts';
import { config } from './config.ts';
import { stepFunctionsExecutions } from './executions.ts';
import { eventBridgeNotifier } from './notifier.ts';
import { s3ObjectStore } from './object-store.ts';
import { dynamoRunStore } from './run-store.ts';
import { eventBridgeSchedules } from './schedules.ts';
import { makeTrainingService } from './training-service.ts';

const clock: Clock = { now: () => new Date() };

export const services = {
  get clock() {
    return clock;
  },
  get runs() {
    return dynamoRunStore(clients.dynamo(), config.table());
  },
  get store() {
    return s3ObjectStore(clients.s3(), config.bucket());
  },
  get executions() {
    return stepFunctionsExecutions(clients.stepFunctions(), config.stateMachineArn());
  },
  get notifier() {
    return eventBridgeNotifier(clients.eventBridge(), config.eventBus());
  },
  get training() {
    return makeTrainingService(clients.sageMaker());
  },
  get schedules() {
    const { TIDEWHEEL_SCHEDULE_GROUP, TIDEWHEEL_SCHEDULE_ROLE_ARN, TIDEWHEEL_ARRIVALS_QUEUE_ARN } =
      config.schedules();
    return eventBridgeSchedules(clients.scheduler(), {
      groupName: TIDEWHEEL_SCHEDULE_GROUP,
      roleArn: TIDEWHEEL_SCHEDULE_ROLE_ARN,
      queueArn: TIDEWHEEL_ARRIVALS_QUEUE_ARN,
    });
  },
  get publishAgent() {
    return agentPublisher(s3ObjectStore(clients.s3(), config.bucket()), config.codeFolder());
  },
};
