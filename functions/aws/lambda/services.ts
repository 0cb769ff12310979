/** The ports on their AWS adapters, for the handlers: each is made when a function asks for it. */
import { makeEc2Launcher, makeEc2Starter } from '../../core/launch/ec2/ec2-launcher.ts';
import type { Launchers, Starters } from '../../core/launch/launcher.ts';
import {
  makeSageMakerLauncher,
  makeSageMakerStarter,
} from '../../core/launch/sagemaker/sagemaker-launcher.ts';
import type { Clock } from '../../core/shared/ports.ts';
import { dynamoStores } from '../dynamodb/stores.ts';
import { makeFleetService } from '../ec2/ec2-fleet-service.ts';
import { eventBridgeNotifier } from '../events/notifier.ts';
import { eventBridgeSchedules } from '../events/schedules.ts';
import { s3ObjectStore } from '../s3/object-store.ts';
import { makeRegion } from '../s3/region-buckets.ts';
import { makeTrainingService } from '../sagemaker/training-service.ts';
import * as clients from '../shared/clients.ts';
import { config } from '../shared/config.ts';
import { stepFunctionsExecutions } from '../stepfunctions/executions.ts';
import { agentPublisher } from './agent.ts';

// Functions, not one object: a bundle holds only the adapters that its handler names.
export const clock: Clock = { now: () => new Date() };
export const tableStores = () => dynamoStores(clients.dynamo(), config.table());
export const store = () => s3ObjectStore(clients.s3(), config.bucket());
export const executions = () => stepFunctionsExecutions(clients.stepFunctions(), config.stateMachineArn());
export const notifier = () => eventBridgeNotifier(clients.eventBridge(), config.eventBus());
const sageMaker = () => ({
  training: makeTrainingService(clients.sageMaker()),
  trainingIn: (name: string) => makeTrainingService(clients.sageMakerIn(name)),
});
const fleets = () => makeFleetService({ ec2: clients.ec2(), store: store(), clock });
const launchers = (): Launchers => ({
  sagemaker: makeSageMakerLauncher(sageMaker()),
  ec2: makeEc2Launcher(fleets()),
});
/** For the launch function alone: they need its settings, and a catalog in the bundle. */
export const starters = (): Starters => ({
  sagemaker: makeSageMakerStarter(sageMaker(), config.trainingRoleArn()),
  ec2: makeEc2Starter(fleets(), {
    hostProfileArn: config.hostProfileArn(),
    hostLogGroup: config.hostLogGroup(),
  }),
});
/** What every look at an attempt needs, whoever asks. */
export const attemptServices = () => ({
  ...tableStores(),
  store: store(),
  launchers: launchers(),
  executions: executions(),
  notifier: notifier(),
  clock,
});
export const publishAgent = () => agentPublisher(store(), config.codeFolder());
export const region = (name: string) =>
  makeRegion(name, { dataBucket: config.bucket(), home: clients.s3(), there: clients.s3In(name) });
/** Another region, with the agent's files for its bucket. */
export const away = (name: string) => {
  const there = region(name);
  return { region: there, publishAgent: agentPublisher(there.store, config.codeFolder()) };
};
export const schedules = () => {
  const { TIDEWHEEL_SCHEDULE_GROUP, TIDEWHEEL_SCHEDULE_ROLE_ARN, TIDEWHEEL_ARRIVALS_QUEUE_ARN } =
    config.schedules();
  return eventBridgeSchedules(clients.scheduler(), {
    groupName: TIDEWHEEL_SCHEDULE_GROUP,
    roleArn: TIDEWHEEL_SCHEDULE_ROLE_ARN,
    queueArn: TIDEWHEEL_ARRIVALS_QUEUE_ARN,
  });
};
