/** Both launchers over services that a test gives: fakes, or adapters on an emulator. */
import { makeEc2Launcher, makeEc2Starter } from '../../../functions/launch/ec2/ec2-launcher.ts';
import type { FleetService } from '../../../functions/launch/ec2/fleet-service.ts';
import type { Launchers, Starters } from '../../../functions/launch/launcher.ts';
import type { PipelineRole } from '../../../functions/launch/pipeline-role.ts';
import {
  makeSageMakerLauncher,
  makeSageMakerStarter,
  type SageMaker,
} from '../../../functions/launch/sagemaker/sagemaker-launcher.ts';

export const TRAINING_ROLE = 'arn:aws:iam::123456789012:role/tidewheel-training';
export const HOST_PROFILE = 'arn:aws:iam::123456789012:instance-profile/hosts';

/** One for all pipelines, which exists. */
export const knownRole = (arn: string): PipelineRole => ({ arnOf: () => arn, ensure: async () => 'known' });

export interface LaunchServices extends SageMaker {
  readonly fleets: FleetService;
  readonly hostLogGroup?: string | undefined;
}

export const launchersOver = (services: LaunchServices): { launchers: Launchers; starters: Starters } => ({
  launchers: {
    sagemaker: makeSageMakerLauncher(services),
    ec2: makeEc2Launcher(services.fleets),
  },
  starters: {
    sagemaker: makeSageMakerStarter(services, knownRole(TRAINING_ROLE)),
    ec2: makeEc2Starter(services.fleets, {
      role: knownRole(HOST_PROFILE),
      hostLogGroup: services.hostLogGroup,
    }),
  },
});

/** The bucket of launches that copy no files. */
export const noFiles = () => Promise.reject(new Error('no file is copied here'));
