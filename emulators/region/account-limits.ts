/** A profile's limits as the options of the servers that play them. */
import { instanceFacts } from '@tidewheel/catalog/catalog.ts';
import type { EmulatorOptions } from '../aws/ministack.ts';
import type { LocalEc2Options } from '../ec2/local-ec2.ts';
import { type ByAccelerators, type LimitProfile, limitsOf } from '../limits/profiles.ts';
import type { LocalSageMakerOptions } from '../sagemaker/server.ts';
import type { LocalMarketOptions } from '../spot-market/spot-market.ts';

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

export function hostLimits(
  profile: LimitProfile = 'none',
): Required<Pick<LocalEc2Options, 'bootSeconds' | 'downloadBytesPerSecond'>> {
  const { ec2, downloadShare } = limitsOf(profile);
  return {
    bootSeconds: (type) => byAccelerators(type, ec2.bootSeconds),
    downloadBytesPerSecond: (type) => bytesPerSecond(type, downloadShare),
  };
}

/** Where the catalog does not know a type: the bandwidth of the smallest. */
const LEAST_GBPS = 0.75;

/** @returns undefined where no time passes */
function bytesPerSecond(type: string, share: number | undefined): number | undefined {
  const gbps = instanceFacts(type)?.networkBaselineGbps || LEAST_GBPS;
  return share === undefined ? undefined : (share * gbps * 1e9) / 8;
}

/** EC2's names of families with accelerators. */
const ACCELERATED = /^(p|g|trn|inf)\d/;

type SageMakerLimits = Required<
  Pick<
    LocalSageMakerOptions,
    | 'operationRate'
    | 'instanceQuota'
    | 'longestRunSeconds'
    | 'pendingSeconds'
    | 'preparationSeconds'
    | 'downloadSeconds'
    | 'imageSeconds'
  >
>;

export function sageMakerLimits(profile: LimitProfile = 'none'): SageMakerLimits {
  const { sageMaker, downloadShare } = limitsOf(profile);
  const { operations: operationRate, instances, longestRunSeconds, ...delays } = sageMaker;
  return {
    operationRate,
    longestRunSeconds,
    instanceQuota: (type) => (ACCELERATED.test(type) ? instances.accelerated : instances.other),
    pendingSeconds: (type) => byAccelerators(type, delays.pendingSeconds),
    preparationSeconds: (type) => byAccelerators(type, delays.preparationSeconds),
    imageSeconds: (type) => byAccelerators(type, delays.imageSeconds),
    downloadSeconds: (type, bytes) =>
      bytes / (bytesPerSecond(type, downloadShare) ?? Number.POSITIVE_INFINITY),
  };
}

/** @param type EC2's name, without `ml.` */
function byAccelerators(type: string, { none, some, eight }: ByAccelerators): number {
  const count = instanceFacts(type)?.acceleratorCount ?? (ACCELERATED.test(type) ? 1 : 0);
  return count === 0 ? none : count < 8 ? some : eight;
}
