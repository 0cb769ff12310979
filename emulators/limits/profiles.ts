/**
 * The limits that AWS sets an account, for the emulators to play. A region without limits hides how a first day on AWS
 * goes. Each figure names its source.
 */

interface AccountLimits {
  readonly lambda: {
    /** Functions that may run at once; undefined: any number. */
    readonly concurrentExecutions: number | undefined;
  };
  readonly s3: {
    /** Until the first byte. */
    readonly latencySeconds: number;
  };
  readonly dynamodb: { readonly latencySeconds: number };
}

/**
 * "Applications can achieve consistent small object latencies (and first-byte-out latencies for larger objects) of
 * roughly 100-200 milliseconds". https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html
 */
const s3 = { latencySeconds: 0.1 };

/** "single-digit millisecond". https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Introduction.html */
const dynamodb = { latencySeconds: 0.009 };

const PROFILES = {
  /**
   * "New AWS accounts have reduced concurrency and memory quotas." AWS names no figure; accounts report 10.
   * https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
   */
  'new-account': { lambda: { concurrentExecutions: 10 }, s3, dynamodb },
  /** https://docs.aws.amazon.com/lambda/latest/dg/lambda-concurrency.html */
  default: { lambda: { concurrentExecutions: 1_000 }, s3, dynamodb },
  none: {
    lambda: { concurrentExecutions: undefined },
    s3: { latencySeconds: 0 },
    dynamodb: { latencySeconds: 0 },
  },
} as const satisfies Readonly<Record<string, AccountLimits>>;

export type LimitProfile = keyof typeof PROFILES;

export const LIMIT_PROFILES = Object.keys(PROFILES) as LimitProfile[];

export const limitsOf = (profile: LimitProfile): AccountLimits => PROFILES[profile];
