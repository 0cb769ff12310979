/**
 * The limits that AWS sets an account, for the emulators and the simulated region to play. A region without limits hides
 * how a first day on AWS goes. Each figure names its source.
 */

import { request } from 'undici';
import * as z from 'zod';
import type { Rate } from './token-bucket.ts';

/** Of a figure that differs by the accelerators of an instance type. */
export interface ByAccelerators {
  readonly none: number;
  readonly some: number;
  /** Eight or more: whole machines of the largest types. */
  readonly eight: number;
}

export interface AccountLimits {
  readonly lambda: {
    /** Functions that may run at once; undefined: no limit. */
    readonly concurrentExecutions: number | undefined;
  };
  readonly s3: {
    /** Until the first byte. */
    readonly latencySeconds: number;
    /** Of one prefix; above it S3 answers 503 SlowDown. */
    readonly readsPerSecond: number;
    readonly writesPerSecond: number;
  };
  readonly dynamodb: { readonly latencySeconds: number };
  readonly stepFunctions: {
    /** Of a state's output. */
    readonly payloadBytes: number;
    readonly historyEvents: number;
  };
  readonly ec2: {
    /** Of each action; above it EC2 answers RequestLimitExceeded. */
    readonly actions: Rate;
    /** New configurations of GetSpotPlacementScores in 24 hours; above them EC2 answers MaxConfigLimitExceeded. */
    readonly scoreConfigurations: number;
    /** From the launch, from which EC2 bills, to the first program of a host. */
    readonly bootSeconds: ByAccelerators;
    /** vCPUs that may run at once in a class of families, in each purchase option; undefined: no limit. */
    readonly vcpus: { readonly standard: number; readonly accelerated: number } | undefined;
  };
  readonly sageMaker: {
    /** Of each operation; above it SageMaker answers ThrottlingException. */
    readonly operations: Rate;
    /** Instances of a type with accelerators, and of one without, in each purchase option. */
    readonly instances: { readonly accelerated: number; readonly other: number };
    /** Of one training job. */
    readonly longestRunSeconds: number;
    /** How long an On-Demand job is Pending until there is capacity for it. */
    readonly pendingSeconds: ByAccelerators;
    /** How long a job's instances are prepared, unbilled, until the download begins. */
    readonly preparationSeconds: ByAccelerators;
    /** How long the training image takes. */
    readonly imageSeconds: ByAccelerators;
  };
  /** The part of an instance's baseline bandwidth that a download from S3 reaches; undefined: no time passes. */
  readonly downloadShare: number | undefined;
}

/**
 * "Roughly 100-200 milliseconds" until the first byte; 5,500 GET or HEAD and 3,500 PUT, COPY, POST or DELETE a second in
 * a prefix. https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html
 */
const s3 = { latencySeconds: 0.1, readsPerSecond: 5_500, writesPerSecond: 3_500 };

/** "Single-digit millisecond". https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Introduction.html */
const dynamodb = { latencySeconds: 0.009 };

/** https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html */
const stepFunctions = { payloadBytes: 262_144, historyEvents: 25_000 };

const ec2 = {
  /**
   * Of actions that change nothing; those that do have smaller ones.
   * https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html
   */
  actions: { burst: 100, perSecond: 20 },
  /**
   * AWS limits them and names no figure: stated.
   * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-placement-score.html
   */
  scoreConfigurations: 50,
  /** AWS names no figure: stated. Large types boot for minutes, and load their drivers. */
  bootSeconds: { none: 40, some: 120, eight: 480 },
};

/**
 * The defaults of AWS: five for the Standard families, none for those with accelerators.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-spot-limits.html
 * https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
 */
const fewVcpus = { standard: 5, accelerated: 0 };

/** AWS publishes no rate for SageMaker's control plane: stated. */
const operations = { burst: 20, perSecond: 10 };

/** Five days. https://docs.aws.amazon.com/general/latest/gr/sagemaker.html */
const longestRunSeconds = 432_000;

/**
 * AWS publishes neither: stated. On-Demand jobs for whole machines with accelerators queue for hours. Logs of jobs on
 * small types show one to three minutes until the download; large types may take longer than ten.
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_SecondaryStatusTransition.html
 */
const delays = {
  pendingSeconds: { none: 0, some: 0, eight: 21_600 },
  preparationSeconds: { none: 60, some: 120, eight: 1_500 },
  /** Images without CUDA have about 2 GB, those with it about 8. AWS names no time: stated. */
  imageSeconds: { none: 30, some: 120, eight: 120 },
};

/**
 * An assumption; placement reckons with the same (input-mode.ts). A type's baseline is in the catalog. Within a Region
 * traffic may use all of it, and one connection to S3 carries at most 5 Gbit/s, so the share depends on the client's
 * connections and on the volume. The half is too high for large types: a copy by the AWS CLI was measured at 375 MB/s
 * where the network carried 4.3 GB/s.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-network-bandwidth.html
 * https://repost.aws/articles/AR1Jqz-WmjRzCgVGa-uVSdLQ/maximizing-amazon-s3-transfer-throughput-to-amazon-ec2-instances
 * https://github.com/peak/s5cmd#overview
 */
const downloadShare = 0.5;
const noDelay = { none: 0, some: 0, eight: 0 };

/** Of an account whose requests for more were granted: stated. */
const manyInstances = { accelerated: 1_000, other: 1_000 };

/** Of the same account: a thousand of the largest instances. */
const manyVcpus = { standard: 192_000, accelerated: 192_000 };

const ANY = Number.MAX_SAFE_INTEGER;
const anyRate = { burst: ANY, perSecond: ANY };

const PROFILES = {
  'new-account': {
    /**
     * "New AWS accounts have reduced concurrency and memory quotas." AWS names no figure; accounts report 10.
     * https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
     */
    lambda: { concurrentExecutions: 10 },
    s3,
    dynamodb,
    stepFunctions,
    ec2: { ...ec2, vcpus: fewVcpus },
    /**
     * Accounts report 0 for types with GPUs, and 0 to 30 for others. They differ by type and region: Service Quotas
     * has an account's own. https://docs.aws.amazon.com/general/latest/gr/sagemaker.html
     */
    sageMaker: { operations, instances: { accelerated: 0, other: 4 }, longestRunSeconds, ...delays },
    downloadShare,
  },
  default: {
    /** https://docs.aws.amazon.com/lambda/latest/dg/lambda-concurrency.html */
    lambda: { concurrentExecutions: 1_000 },
    s3,
    dynamodb,
    stepFunctions,
    ec2: { ...ec2, vcpus: manyVcpus },
    sageMaker: { operations, instances: manyInstances, longestRunSeconds, ...delays },
    downloadShare,
  },
  none: {
    lambda: { concurrentExecutions: undefined },
    s3: { latencySeconds: 0, readsPerSecond: ANY, writesPerSecond: ANY },
    dynamodb: { latencySeconds: 0 },
    stepFunctions: { payloadBytes: ANY, historyEvents: ANY },
    ec2: { actions: anyRate, scoreConfigurations: ANY, bootSeconds: noDelay, vcpus: undefined },
    sageMaker: {
      operations: anyRate,
      instances: manyInstances,
      longestRunSeconds: ANY,
      pendingSeconds: noDelay,
      preparationSeconds: noDelay,
      imageSeconds: noDelay,
    },
    downloadShare: undefined,
  },
} as const satisfies Readonly<Record<string, AccountLimits>>;

export type LimitProfile = keyof typeof PROFILES;

export const LIMIT_PROFILES = Object.keys(PROFILES) as LimitProfile[];

export const limitsOf = (profile: LimitProfile): AccountLimits => PROFILES[profile];

/** As emulators/aws/limits.py answers. */
const answer = z.object({ invocations: z.number(), requests: z.number() });

/** What the limits of an account have held up in a region so far, for a person to read. */
type HeldUp = z.infer<typeof answer>;

/** @param url of an emulator that plays limits */
export async function refusedSoFar(url: string): Promise<HeldUp> {
  const { body } = await request(`${url}/_tidewheel/limits`);
  return answer.parse(await body.json());
}

/** @returns lines for the screen */
export function heldUpLines(profile: LimitProfile, { invocations, requests }: HeldUp): readonly string[] {
  const { lambda, s3, dynamodb, sageMaker } = limitsOf(profile);
  const { none, some, eight } = sageMaker.preparationSeconds;
  const { concurrentExecutions: most } = lambda;
  const atOnce = most === undefined ? 'functions have no limit' : `at most ${most} functions run at once`;
  return [
    `what the limits (${profile}) held up:`,
    `  ${invocations} invocations throttled and tried again: ${atOnce}`,
    `  ${requests} S3 requests answered SlowDown and tried again: ${s3.readsPerSecond} reads and ${s3.writesPerSecond} writes a second in a prefix`,
    `  each request: S3 answers after ${s3.latencySeconds} s, DynamoDB after ${dynamodb.latencySeconds} s`,
    `  each training job: SageMaker prepares instances for ${none} s, with accelerators for ${some} s, with eight or more for ${eight} s`,
  ];
}
