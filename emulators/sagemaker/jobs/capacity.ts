/** Waits for a job's capacity: all of its instances at once, in one zone. */
import type { CreateTrainingJobRequest } from '@aws-sdk/client-sagemaker';
import type {
  CapacityLease,
  CapacityMarket,
  CapacityRequest,
} from '../../spot-market/model/capacity-source.ts';
import { ec2Name, groupsOf, purchaseOptionOf, withEachSelected } from '../model/job-record.ts';

export const NO_CAPACITY =
  'Unable to provision requested ML compute capacity. Please retry using a different ML instance type.';
export const STARVED = 'Insufficient capacity error from EC2 while launching instances, retrying!';

const ACCELERATED = /^ml\.(p|g|trn)\d/;

/** On-Demand jobs with accelerators wait in Pending, all others in Starting. */
export const pendsWhenStarved = (request: CreateTrainingJobRequest): boolean =>
  purchaseOptionOf(request) === 'on-demand' &&
  withEachSelected(request)
    .flatMap(groupsOf)
    .some((group) => ACCELERATED.test(group.instanceType));

interface PreferredCapacity extends CapacityRequest {
  /** With the preference that this capacity is of. */
  readonly request: CreateTrainingJobRequest;
}

/** One for each type that the job takes, in its order. */
export const capacityRequests = (
  owner: string,
  job: CreateTrainingJobRequest,
  zoneIds: readonly string[] | undefined,
): readonly PreferredCapacity[] =>
  withEachSelected(job).map((request) => ({
    request,
    owner,
    groups: groupsOf(request).map((group) => ({
      instanceType: ec2Name(group.instanceType),
      count: group.count,
    })),
    zoneIds,
    purchaseOption: purchaseOptionOf(request),
    reservation: request.ResourceConfig?.TrainingPlanArn,
  }));

export interface Acquired {
  readonly lease: CapacityLease;
  readonly request: CreateTrainingJobRequest;
}

function acquireFirst(market: CapacityMarket, requests: readonly PreferredCapacity[]): Acquired | undefined {
  for (const { request, ...wanted } of requests) {
    const lease = market.acquire(wanted);
    if (lease !== undefined) return { lease, request };
  }
  return undefined;
}

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
  requests: readonly PreferredCapacity[],
  signal: AbortSignal,
  onStarved: () => () => void,
): Promise<Acquired | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  const first = acquireFirst(market, requests);
  if (first) return Promise.resolve(first);
  const { promise, resolve, reject } = Promise.withResolvers<Acquired | undefined>();
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
      const acquired = acquireFirst(market, requests);
      if (!acquired) return;
      stop();
      resolve(acquired);
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
