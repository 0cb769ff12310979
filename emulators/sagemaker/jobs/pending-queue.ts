/** Lets On-Demand jobs wait in line, as they do on AWS for the largest types. The market itself always has On-Demand. */
import type { LocalClock } from '../../clock/clock.ts';
import type { CapacityMarket, CapacityRequest } from '../../spot-market/model/capacity-source.ts';

/** @param secondsOf from a job's first request to its turn, by the clock */
export function withPendingQueue(
  market: CapacityMarket,
  clock: LocalClock,
  secondsOf: (request: CapacityRequest) => number,
): CapacityMarket {
  /** When the turn of each owner comes, in milliseconds since 1970. */
  const turns = new Map<string, number>();
  const listeners = new Set<() => void>();
  const turnOf = (request: CapacityRequest): number => {
    const known = turns.get(request.owner);
    if (known !== undefined) return known;
    const seconds = request.purchaseOption === 'on-demand' ? secondsOf(request) : 0;
    const turn = clock.now() + seconds * 1_000;
    if (seconds > 0) {
      turns.set(request.owner, turn);
      clock.at(turn, () => {
        for (const listener of Array.from(listeners)) listener();
      });
    }
    return turn;
  };
  return {
    acquire: (request) => {
      if (turnOf(request) > clock.now()) return undefined;
      const lease = market.acquire(request);
      if (lease !== undefined) turns.delete(request.owner);
      return lease;
    },
    onCapacity: (listener) => {
      const own = (): void => listener();
      listeners.add(own);
      const unsubscribe = market.onCapacity(listener);
      return () => {
        listeners.delete(own);
        unsubscribe();
      };
    },
  };
}
