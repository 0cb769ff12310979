/** A profile's limits as the options of the servers that play them. */
import { instanceFacts } from '../../functions/core/catalog/catalog.ts';
import type { EmulatorOptions } from '../aws/ministack.ts';
import type { LocalEc2Options } from '../ec2/local-ec2.ts';
import { type ByAccelerators, type LimitProfile, limitsOf } from '../limits/profiles.ts';
import type { LocalSageMakerOptions } from '../sagemaker/server.ts';
import type { LocalMarketOptions } from '../spot-market/market.ts';

export function emulatorLimits(
  profile: LimitProfile = 'none',
): Pick<EmulatorOptions, 'concurrentExecutions' | 'limits'> {
  if (profile === 'none') return {};
  const { lambda, s3, dynamodb, stepFunctions } = limitsOf(profile);
  return {
    concurrentExecutions: lambda.concurrentExecutions,
    limits: { s3, dynamodbLatencySeconds: dynamodb.latencySeconds, ...stepFunctions },
  };
}

export function marketLimits(
  profile: LimitProfile = 'none',
): Required<Pick<LocalMarketOptions, 'actionRate' | 'configurationLimit' | 'vcpuQuota'>> {
  const { actions: actionRate, scoreConfigurations: configurationLimit, vcpus } = limitsOf(profile).ec2;
  return {
    actionRate,
    configurationLimit,
    vcpuQuota: vcpus && ((type) => (ACCELERATED.test(type) ? vcpus.accelerated : vcpus.standard)),
  };
}

export function hostLimits(profile: LimitProfile = 'none'): Required<Pick<LocalEc2Options, 'bootSeconds'>> {
  const { bootSeconds } = limitsOf(profile).ec2;
  return { bootSeconds: (type) => byAccelerators(type, bootSeconds) };
}

/** EC2's names of families with accelerators. */
const ACCELERATED = /^(p|g|trn|inf)\d/;

type SageMakerLimits = Required<
  Pick<
    LocalSageMakerOptions,
    'operationRate' | 'instanceQuota' | 'longestRunSeconds' | 'pendingSeconds' | 'preparationSeconds'
  >
>;

export function sageMakerLimits(profile: LimitProfile = 'none'): SageMakerLimits {
  const { operations: operationRate, instances, longestRunSeconds, ...delays } = limitsOf(profile).sageMaker;
  return {
    operationRate,
    longestRunSeconds,
    instanceQuota: (type) => (ACCELERATED.test(type) ? instances.accelerated : instances.other),
    pendingSeconds: (type) => byAccelerators(type, delays.pendingSeconds),
    preparationSeconds: (type) => byAccelerators(type, delays.preparationSeconds),
  };
}

/** @param type EC2's name, without `ml.` */
function byAccelerators(type: string, { none, some, eight }: ByAccelerators): number {
  const count = instanceFacts(type)?.acceleratorCount ?? (ACCELERATED.test(type) ? 1 : 0);
  return count === 0 ? none : count < 8 ? some : eight;
}
