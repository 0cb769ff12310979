/**
 * AWS's throttling of its APIs: a request takes a token, and tokens come back at a rate.
 * https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html
 */

export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

/** @returns whether a request of the name may pass; each name has a bucket of its own */
export function tokenBuckets({ burst, perSecond }: Rate, now: () => number): (name: string) => boolean {
  const buckets = new Map<string, { tokens: number; filledAt: number }>();
  return (name) => {
    const at = now();
    const { tokens, filledAt } = buckets.get(name) ?? { tokens: burst, filledAt: at };
    const filled = Math.min(burst, tokens + ((at - filledAt) / 1_000) * perSecond);
    const passes = filled >= 1;
    buckets.set(name, { tokens: passes ? filled - 1 : filled, filledAt: at });
    return passes;
  };
}
