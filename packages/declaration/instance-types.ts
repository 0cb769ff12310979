/**
 * Names of instance types: which exist, their families, sizes and quotas.
 *
 * Called by the catalog, launchers, placement, checks and the emulators.
 */
export { familyOf } from './types/instance-family.ts';
export { EC2_TYPES, isEc2Type, isLaterType } from './types/known-types.ts';
export {
  isKnownTrainingType,
  knownSizes,
  TRAINING_TYPES,
  type TrainingInstanceType,
  type TrainingType,
  trainingType,
} from './types/training-types.ts';
export { vcpuQuotaOf, vcpuQuotaRemedy } from './types/vcpu-quotas.ts';
