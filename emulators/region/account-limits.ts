/** A profile's limits as the options of the servers that play them. */
import type { EmulatorOptions } from '../aws/ministack.ts';
import { type LimitProfile, limitsOf } from '../limits/profiles.ts';
import type { LocalSageMakerOptions } from '../sagemaker/server.ts';

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

/** EC2's names of families with accelerators. */
const ACCELERATED = /^(p|g|trn|inf)\d/;

export function sageMakerLimits(
  profile: LimitProfile = 'none',
): Required<Pick<LocalSageMakerOptions, 'operationRate' | 'instanceQuota' | 'longestRunSeconds'>> {
  const { operations: operationRate, instances, longestRunSeconds } = limitsOf(profile).sageMaker;
  return {
    operationRate,
    longestRunSeconds,
    instanceQuota: (type) => (ACCELERATED.test(type) ? instances.accelerated : instances.other),
  };
}
