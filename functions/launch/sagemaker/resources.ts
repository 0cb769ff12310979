/** The ResourceConfig of a training job: its instances and their volumes. */

import { knownSizes, type TrainingType, trainingType } from '@tidewheel/declaration/instance-types.ts';
import { type Pipeline, TRAINING_GROUP } from '@tidewheel/declaration/pipeline.ts';
import type { Problem } from '@tidewheel/kit/errors.ts';
import type { Placement } from '@tidewheel/placement/records.ts';
import type { InstanceGroupRequest, ResourceConfigRequest } from '../job/request.ts';

export interface Resources {
  readonly config: ResourceConfigRequest;
  /** The device that the image must support. One image serves all groups, and a GPU image also runs without a GPU. */
  readonly device: TrainingType['device'];
  /** All group names, the training group first; undefined for one kind of nodes. */
  readonly groups?: readonly string[] | undefined;
}

export function resourcesOf(
  { pool, topology }: Placement,
  { volumeGigabytes, helpers }: Pipeline['compute'],
): Resources | { readonly problem: Problem } {
  const type = trainingType(pool.instanceType);
  if (type === undefined) return { problem: unknownType('compute.instanceTypes', pool.instanceType) };
  if (helpers === undefined) {
    const config = {
      InstanceType: type.name,
      InstanceCount: topology.nodes,
      ...volume([type], volumeGigabytes),
    };
    return { device: type.device, config };
  }
  const types = [type];
  const groups = [group(TRAINING_GROUP, type, topology.nodes)];
  for (const [index, helper] of helpers.entries()) {
    const helperType = trainingType(helper.instanceType);
    if (helperType === undefined) {
      return { problem: unknownType(`compute.helpers[${index}].instanceType`, helper.instanceType) };
    }
    types.push(helperType);
    groups.push(group(helper.name, helperType, helper.nodes));
  }
  return {
    device: type.device,
    config: { InstanceGroups: groups, ...volume(types, volumeGigabytes) },
    groups: groups.map(({ InstanceGroupName }) => InstanceGroupName),
  };
}

const group = (name: string, type: TrainingType, nodes: number): InstanceGroupRequest => ({
  InstanceGroupName: name,
  InstanceType: type.name,
  InstanceCount: nodes,
});

/**
 * SageMaker refuses a volume size for a type with NVMe unless it equals the NVMe's, so the size is sent only if a group
 * needs an EBS volume. VolumeKmsKeyId is not sent, because types with NVMe refuse it and EBS is encrypted without it.
 */
const volume = (types: readonly TrainingType[], gigabytes: number): { readonly VolumeSizeInGB?: number } =>
  types.every(({ localStorage }) => localStorage) ? {} : { VolumeSizeInGB: gigabytes };

function unknownType(path: string, instanceType: string): Problem {
  const sizes = knownSizes(instanceType);
  const remedy =
    sizes.length > 0
      ? `use ${sizes.join(', ')}`
      : 'use a type of a training family such as c5, m5, g5, g6, p4d or p5';
  return { path, message: `SageMaker does not train on "${instanceType}": ${remedy}` };
}
