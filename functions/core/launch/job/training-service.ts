/** What the rules ask of the service that trains: SageMaker, the local SageMaker, or a fake in a test. */
import type { CreateTrainingJobRequest } from './request.ts';

export type CreateOutcome =
  | { readonly kind: 'created'; readonly arn: string }
  /** The name is taken: names derive from run and attempt, so it is this very attempt, created before. */
  | { readonly kind: 'alreadyExists' }
  /** The account's limit for this type; another type may do. */
  | { readonly kind: 'quota'; readonly message: string }
  | { readonly kind: 'capacity'; readonly message: string }
  /** SageMaker will never take this request. */
  | { readonly kind: 'invalid'; readonly message: string }
  | { readonly kind: 'denied'; readonly message: string }
  /** Nothing is known to be wrong: the same request may be taken later. */
  | { readonly kind: 'throttled'; readonly message: string };

export interface StatusTransition {
  /** A SecondaryStatus; the list is open ("subject to change"). */
  readonly Status: string;
  readonly StartTime: Date;
  readonly EndTime?: Date | undefined;
  readonly StatusMessage?: string | undefined;
}

/** The part of DescribeTrainingJob's answer that decisions are made from, in the API's own names. */
export interface TrainingJobDescription {
  readonly TrainingJobName: string;
  /** InProgress, Completed, Failed, Stopping, Stopped, Deleting, or one that is new. */
  readonly TrainingJobStatus: string;
  readonly SecondaryStatus: string;
  readonly FailureReason?: string | undefined;
  readonly EnableManagedSpotTraining?: boolean | undefined;
  readonly CreationTime: Date;
  /** Absent until capacity was had for the first time. */
  readonly TrainingStartTime?: Date | undefined;
  readonly TrainingEndTime?: Date | undefined;
  readonly TrainingTimeInSeconds?: number | undefined;
  /** For Spot the discounted equivalent: what is paid for at the On-Demand price. Per instance. */
  readonly BillableTimeInSeconds?: number | undefined;
  /** Oldest first. */
  readonly SecondaryStatusTransitions: readonly StatusTransition[];
  readonly ModelArtifacts?: { readonly S3ModelArtifacts?: string | undefined } | undefined;
}

export type StopOutcome = 'stopping' | 'alreadyEnded' | 'notFound';

/**
 * @throws TransientError when the service cannot be asked now (describe, stop; create says `throttled`)
 */
export interface TrainingService {
  create(request: CreateTrainingJobRequest): Promise<CreateOutcome>;
  /** undefined when there is no such job */
  describe(jobName: string): Promise<TrainingJobDescription | undefined>;
  stop(jobName: string): Promise<StopOutcome>;
}
