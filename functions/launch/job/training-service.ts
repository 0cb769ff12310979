/** The port to the training service: SageMaker, the local SageMaker, or a fake in a test. */
import type { AwsErrorClass } from '../../records/aws-error-class.ts';
import type { CreateTrainingJobRequest } from './request.ts';

export type CreateOutcome =
  /** `alone`: why AWS refused the request that named further types, here and below. */
  | { readonly kind: 'created'; readonly arn: string; readonly alone?: string }
  /** Names derive from run and attempt, so the existing job is this attempt's own. */
  | { readonly kind: 'alreadyExists' }
  /** The account's quota for this type; another type may work. */
  | { readonly kind: 'quota'; readonly message: string }
  | { readonly kind: 'capacity'; readonly message: string; readonly alone?: string }
  /** SageMaker will never accept this request. */
  | { readonly kind: 'invalid'; readonly message: string }
  | { readonly kind: 'denied'; readonly message: string }
  /** The same request may succeed later. */
  | { readonly kind: 'throttled'; readonly message: string }
  /** No meaning is known of it that decides. Another pool may give another answer. */
  | { readonly kind: 'unknown'; readonly message: string };

const REFUSALS = {
  throttle: 'throttled',
  transient: 'throttled',
  credentials: 'throttled',
  quota: 'quota',
  capacity: 'capacity',
  access: 'denied',
  validation: 'invalid',
  notFound: 'invalid',
  unsupported: 'unknown',
  conflict: 'unknown',
  state: 'unknown',
  unknown: 'unknown',
} as const satisfies Record<AwsErrorClass, CreateOutcome['kind']>;

/** The meaning of a refusal for its attempt. */
export const refusalOf = (error: AwsErrorClass, message: string): CreateOutcome => ({
  kind: REFUSALS[error],
  message,
});

export interface StatusTransition {
  /** A SecondaryStatus; the list is open ("subject to change"). */
  readonly Status: string;
  readonly StartTime: Date;
  readonly EndTime?: Date | undefined;
  readonly StatusMessage?: string | undefined;
}

/** The part of DescribeTrainingJob's answer that decisions need, with the API's own names. */
export interface TrainingJobDescription {
  readonly TrainingJobName: string;
  /** InProgress, Completed, Failed, Stopping, Stopped, Deleting, or a future one. */
  readonly TrainingJobStatus: string;
  readonly SecondaryStatus: string;
  readonly FailureReason?: string | undefined;
  readonly EnableManagedSpotTraining?: boolean | undefined;
  /** EC2's name of the type that AWS selected of several; absent before, and where nothing tells. */
  readonly selectedType?: string | undefined;
  readonly CreationTime: Date;
  /** Absent before the job first has capacity. */
  readonly TrainingStartTime?: Date | undefined;
  readonly TrainingEndTime?: Date | undefined;
  readonly TrainingTimeInSeconds?: number | undefined;
  /** Per instance. For Spot it is discounted: these seconds are paid at the On-Demand price. */
  readonly BillableTimeInSeconds?: number | undefined;
  /** Oldest first. */
  readonly SecondaryStatusTransitions: readonly StatusTransition[];
  readonly ModelArtifacts?: { readonly S3ModelArtifacts?: string | undefined } | undefined;
}

export type StopOutcome = 'stopping' | 'alreadyEnded' | 'notFound';

/**
 * @throws TransientError when the service cannot answer now (describe, stop; create returns `throttled`)
 */
export interface TrainingService {
  create(request: CreateTrainingJobRequest): Promise<CreateOutcome>;
  /** undefined when there is no such job */
  describe(jobName: string): Promise<TrainingJobDescription | undefined>;
  stop(jobName: string): Promise<StopOutcome>;
}
