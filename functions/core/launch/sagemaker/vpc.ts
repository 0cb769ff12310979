/** The network of a training job: a single subnet in the placement's zone, so that SageMaker cannot split a gang. */

import type { Problem } from '@tidewheel/kit/errors.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import type { Placement } from '../../placement/placement-records.ts';
import type { CreateTrainingJobRequest } from '../job/request.ts';

type VpcPart = Pick<CreateTrainingJobRequest, 'VpcConfig'>;

export function vpcOf(
  { pool, subnetId }: Placement,
  { vpc }: Pipeline['compute'],
): VpcPart | { readonly problem: Problem } {
  if (vpc === undefined) return {};
  const subnets = chosenSubnets(vpc.subnets, pool.zoneId, subnetId);
  if (subnets.length === 0) {
    const zones = [...new Set(vpc.subnets.map(({ zoneId }) => zoneId))].join(', ');
    const wanted = subnetId ?? `a subnet in ${pool.zoneId ?? 'any zone'}`;
    return {
      problem: {
        path: 'compute.vpc.subnets',
        message: `the placement needs ${wanted}, but the declared subnets are in ${zones}: add one`,
      },
    };
  }
  return { VpcConfig: { SecurityGroupIds: [...vpc.securityGroupIds], Subnets: subnets } };
}

/** A placement without a zone offers every subnet, and SageMaker chooses. */
function chosenSubnets(
  declared: NonNullable<Pipeline['compute']['vpc']>['subnets'],
  zoneId: string | undefined,
  subnetId: string | undefined,
): string[] {
  if (subnetId !== undefined) return declared.filter(({ id }) => id === subnetId).map(({ id }) => id);
  if (zoneId === undefined) return declared.map(({ id }) => id);
  return declared
    .filter((subnet) => subnet.zoneId === zoneId)
    .slice(0, 1)
    .map(({ id }) => id);
}
