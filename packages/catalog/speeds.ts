/**
 * How fast accelerators, disks and network cards are.
 *
 * In: facts of an instance type. Out: rates, with whether they are assumed. Called by the doctor, placement, checks and the launcher of EC2.
 */
export {
  type ArithmeticRates,
  acceleratorSpeed,
  arithmeticRates,
  computeCapability,
  VCPU_SPEED,
} from './facts/accelerators.ts';
export { diskRate, isDiskRateAssumed } from './facts/disk-rate.ts';
export { efaOf, hasPublicAddress } from './facts/network-cards.ts';
