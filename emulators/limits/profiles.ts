/**
 * The limits that AWS sets an account, for the emulators to play. A region without limits hides how a first day on AWS
 * goes. Each figure names its source.
 */

interface AccountLimits {
  readonly lambda: {
    /** Functions that may run at once; undefined: any number. */
    readonly concurrentExecutions: number | undefined;
  };
}

const PROFILES = {
  /**
   * "New AWS accounts have reduced concurrency and memory quotas." AWS names no figure; accounts report 10.
   * https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
   */
  'new-account': { lambda: { concurrentExecutions: 10 } },
  /** https://docs.aws.amazon.com/lambda/latest/dg/lambda-concurrency.html */
  default: { lambda: { concurrentExecutions: 1_000 } },
  none: { lambda: { concurrentExecutions: undefined } },
} as const satisfies Readonly<Record<string, AccountLimits>>;

export type LimitProfile = keyof typeof PROFILES;

export const LIMIT_PROFILES = Object.keys(PROFILES) as LimitProfile[];

export const limitsOf = (profile: LimitProfile): AccountLimits => PROFILES[profile];
