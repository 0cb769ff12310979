/** Retries by class with full jitter. Time and chance are arguments. */
import { S3SignatureStale, S3Throttled } from './errors.ts';

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
