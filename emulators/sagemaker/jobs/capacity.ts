/** Waits for a job's capacity: all of its instances at once, in one zone. */
import type { CreateTrainingJobRequest } from '@aws-sdk/client-sagemaker';
import type {
  CapacityLease,
  CapacityMarket,
  CapacityRequest,
} from '../../spot-market/model/capacity-source.ts';
import { ec2Name, groupsOf, purchaseOptionOf } from '../model/job-record.ts';

export const NO_CAPACITY =
  'Unable to provision requested ML compute capacity. Please retry using a different ML instance type.';
export const STARVED = 'Insufficient capacity error from EC2 while launching instances, retrying!';

const ACCELERATED = /^ml\.(p|g|trn)\d/;

/** On-Demand jobs with accelerators wait in Pending, all others in Starting. */
export const pendsWhenStarved = (request: CreateTrainingJobRequest): boolean =>
  purchaseOptionOf(request) === 'on-demand' &&
  groupsOf(request).some((group) => ACCELERATED.test(group.instanceType));

export const capacityRequest = (
  owner: string,
  request: CreateTrainingJobRequest,
  zoneIds: readonly string[] | undefined,
): CapacityRequest => ({
  owner,
  groups: groupsOf(request).map((group) => ({
    instanceType: ec2Name(group.instanceType),
    count: group.count,
  })),
  zoneIds,
  purchaseOption: purchaseOptionOf(request),
  reservation: request.ResourceConfig?.TrainingPlanArn,
});

/** What a second of the job costs as a share of an On-Demand second, by instance. */
export function billingRate(
  request: CreateTrainingJobRequest,
  zoneId: string,
  spotDiscount: (instanceType: string, zoneId: string) => number,
): number {
  if (purchaseOptionOf(request) === 'on-demand') return 1;
  const groups = groupsOf(request);
  const total = groups.reduce((sum, group) => sum + group.count, 0);
  return groups.reduce(
    (sum, group) => sum + (group.count / total) * spotDiscount(ec2Name(group.instanceType), zoneId),
    0,
  );
}

/**
 * undefined when the signal came first. onStarved: called once, when there is none at the first try; what it returns is
 * called at the very moment at which the waiting ends.
 */
export function waitForCapacity(
  market: CapacityMarket,
  request: CapacityRequest,
  signal: AbortSignal,
  onStarved: () => () => void,
): Promise<CapacityLease | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  const first = market.acquire(request);
  if (first) return Promise.resolve(first);
  const { promise, resolve, reject } = Promise.withResolvers<CapacityLease | undefined>();
  let isSettled = false;
  let unsubscribe: (() => void) | undefined;
  let onEnd: (() => void) | undefined;
  const stop = (): void => {
    isSettled = true;
    unsubscribe?.();
    onEnd?.();
    signal.removeEventListener('abort', giveUp);
  };
  const giveUp = (): void => {
    stop();
    resolve(undefined);
  };
  const tryAgain = (): void => {
    // A call that comes late must not take capacity that would never be released.
    if (isSettled) return;
    try {
      const lease = market.acquire(request);
      if (!lease) return;
      stop();
      resolve(lease);
    } catch (error) {
      stop();
      reject(error instanceof Error ? error : new Error(String(error)));
    }
  };
  signal.addEventListener('abort', giveUp);
  const unsubscribeFromMarket = market.onCapacity(tryAgain);
  if (isSettled) unsubscribeFromMarket();
  else unsubscribe = unsubscribeFromMarket;
  onEnd = onStarved();
  // Capacity may have come between the first try and the subscription.
  tryAgain();
  return promise;
}
