/** The ports of functions that launch or observe attempts. Functions without SageMaker and EC2 use services.ts. */

import { makeFleetFollower, makeFleetService } from '../aws/ec2/ec2-fleet-service.ts';
import { hostProfiles, trainingRoles } from '../aws/iam/pipeline-roles.ts';
import { agentPublisher } from '../aws/lambda/agent.ts';
import { makeRegion, regionPaths } from '../aws/s3/region-buckets.ts';
import { makeTrainingService } from '../aws/sagemaker/training-service.ts';
import * as compute from '../aws/shared/compute-clients.ts';
import { config } from '../aws/shared/config.ts';
import { makeEc2Launcher, makeEc2Starter } from '../launch/ec2/ec2-launcher.ts';
import type { Launchers, Starters } from '../launch/launcher.ts';
import { makeSageMakerLauncher, makeSageMakerStarter } from '../launch/sagemaker/sagemaker-launcher.ts';
import { clock, executions, notifier, store, tableStores } from './services.ts';

const sageMaker = () => ({
  training: makeTrainingService(compute.sageMaker()),
  trainingIn: (name: string) => makeTrainingService(compute.sageMakerIn(name)),
});
const fleetDeps = () => ({ ec2: compute.ec2(), store: store(), clock });
const launchers = (): Launchers => ({
  sagemaker: makeSageMakerLauncher(sageMaker()),
  ec2: makeEc2Launcher(makeFleetFollower(fleetDeps())),
});
/** Only for the launch function: they need its settings and a catalog in the bundle. */
export const starters = (): Starters => ({
  sagemaker: makeSageMakerStarter(
    sageMaker(),
    trainingRoles({ iam: compute.iam(), clock, kind: config.trainingRoles() }),
    config.kmsKey(),
  ),
  ec2: makeEc2Starter(makeFleetService(fleetDeps()), {
    role: hostProfiles({ iam: compute.iam(), clock, kind: config.hostRoles() }),
    hostLogGroup: config.hostLogGroup(),
  }),
});
/** Dependencies of every look at an attempt. */
export const attemptServices = () => ({
  ...tableStores(),
  store: store(),
  launchers: launchers(),
  executions: executions(),
  notifier: notifier(),
  clock,
});
export const publishAgent = () => agentPublisher(store(), config.codeFolder());
export const region = (name: string) => makeRegion(name, regionPaths(name));
/** Another region, and the agent's files for its bucket. */
export const otherRegion = (name: string) => {
  const found = region(name);
  return { region: found, publishAgent: agentPublisher(found.store, config.codeFolder()) };
};
