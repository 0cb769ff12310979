/** Which instances, how many, and how much disk: the ResourceConfig of a training job. */
import type { Problem } from '../errors.ts';
import type { Pipeline } from '../pipeline.ts';
import type { Placement } from '../records.ts';
import type { ResourceConfigRequest } from './request.ts';
import { knownSizes, type TrainingType, trainingType } from './training-types.ts';

export interface Resources {
  readonly config: ResourceConfigRequest;
  /** What the image must support. */
  readonly device: TrainingType['device'];
}

export function resourcesOf(
  { pool, topology }: Placement,
  { volumeGigabytes }: Pipeline['compute'],
): Resources | { readonly problem: Problem } {
  const type = trainingType(pool.instanceType);
  if (type === undefined) return { problem: unknownType(pool.instanceType) };
  return {
    device: type.device,
    config: {
      InstanceType: type.name,
      InstanceCount: topology.nodes,
      // A type with NVMe uses that; a size that differs from it would be refused. VolumeKmsKeyId is never set: it is
      // refused for such types, and an EBS volume is encrypted with the service's key without it.
      ...(type.localStorage ? {} : { VolumeSizeInGB: volumeGigabytes }),
    },
  };
}

export function unknownType(instanceType: string): Problem {
  const sizes = knownSizes(instanceType);
  const remedy =
    sizes.length > 0
      ? `use ${sizes.join(', ')}`
      : 'use a type of the families c5, m5, g5, g6, p4d, p5 or alike';
  return {
    path: 'compute.instanceTypes',
    message: `SageMaker does not train on "${instanceType}", ${remedy}`,
  };
}
