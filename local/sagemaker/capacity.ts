/** Waits for a job's capacity: all of its instances at once, in one zone. */
import type { CapacityLease, CapacityMarket, CapacityRequest } from '../market/port.ts';

/** undefined when the signal came first. onStarved: called once, when there is none at the first try. */
export function waitForCapacity(
  market: CapacityMarket,
  request: CapacityRequest,
  signal: AbortSignal,
  onStarved: () => void,
): Promise<CapacityLease | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  const first = market.acquire(request);
  if (first) return Promise.resolve(first);
  const { promise, resolve, reject } = Promise.withResolvers<CapacityLease | undefined>();
  let isSettled = false;
  let unsubscribe = (): void => {};
  const stop = (): void => {
    isSettled = true;
    unsubscribe();
    signal.removeEventListener('abort', giveUp);
  };
  const giveUp = (): void => {
    stop();
    resolve(undefined);
  };
  const tryAgain = (): void => {
    // A call that comes late must not take capacity that nobody would give back.
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
  onStarved();
  // Capacity may have come between the first try and the subscription.
  tryAgain();
  return promise;
}
