/** Retries by class with full jitter. Time and chance are arguments. */
import { isRetryable, S3SignatureStale, S3Throttled } from './errors.ts';

export interface RetryWorld {
  /** In [0, 1). */
  random(): number;
  sleep(milliseconds: number): Promise<void>;
}

export interface RetryPolicy {
  /** All tries together, the first included. */
  readonly attempts: number;
  readonly baseMilliseconds: number;
  readonly maximumMilliseconds: number;
}

export const DEFAULT_RETRY: RetryPolicy = { attempts: 10, baseMilliseconds: 50, maximumMilliseconds: 10_000 };

/** Full jitter: uniform between nothing and a bound that doubles. Throttling starts four times higher. */
export function delayMilliseconds(
  policy: RetryPolicy,
  attempt: number,
  error: unknown,
  random: number,
): number {
  const base = error instanceof S3Throttled ? policy.baseMilliseconds * 4 : policy.baseMilliseconds;
  if (error instanceof S3SignatureStale) return 0;
  return Math.floor(random * Math.min(policy.maximumMilliseconds, base * 2 ** (attempt - 1)));
}

/** Runs `once` until it succeeds, fails for good, or the attempts are used up (then the last error is thrown). */
export async function withRetries<T>(
  once: () => Promise<T>,
  policy: RetryPolicy,
  world: RetryWorld,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await once();
    } catch (error: unknown) {
      if (attempt >= policy.attempts || !isRetryable(error)) throw error;
      await world.sleep(delayMilliseconds(policy, attempt, error, world.random()));
    }
  }
}
