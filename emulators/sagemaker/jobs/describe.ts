/** A job as the API and EventBridge show it. Pure. Times are epoch seconds on the API, epoch milliseconds in events. */
import { hasEnded, type JobRecord, secondsUntil } from '../model/job-record.ts';

type Json = Record<string, unknown>;

const epochSeconds = (milliseconds: number | undefined): number | undefined =>
  milliseconds === undefined ? undefined : milliseconds / 1000;

/** SageMaker counts whole seconds and bills each that has begun. Its model allows no 0. */
const wholeSeconds = (seconds: number): number => Math.max(1, Math.ceil(seconds));

export function describeJob(record: JobRecord, now: number): Json {
  const { request } = record;
  const { trainingSeconds, billableSeconds } = secondsUntil(record, now);
  const hasTrained = record.trainingStartedAt !== undefined;
  return withoutAbsent({
    ...requestMembers(request),
    TrainingJobName: record.name,
    TrainingJobArn: record.arn,
    ModelArtifacts: { S3ModelArtifacts: record.modelUri ?? '' },
    TrainingJobStatus: record.status,
    SecondaryStatus: record.secondaryStatus,
    FailureReason: record.failureReason,
    CreationTime: epochSeconds(record.createdAt),
    TrainingStartTime: epochSeconds(record.trainingStartedAt),
    TrainingEndTime: epochSeconds(record.trainingEndedAt),
    LastModifiedTime: epochSeconds(record.modifiedAt),
    SecondaryStatusTransitions: record.transitions.map((transition) =>
      withoutAbsent({
        Status: transition.status,
        StartTime: epochSeconds(transition.startedAt),
        EndTime: epochSeconds(transition.endedAt),
        StatusMessage: transition.message,
      }),
    ),
    FinalMetricDataList:
      record.metrics.length > 0
        ? record.metrics.map(({ name, value, at }) => ({
            MetricName: name,
            Value: value,
            Timestamp: at / 1000,
          }))
        : undefined,
    TrainingTimeInSeconds: hasTrained ? wholeSeconds(trainingSeconds) : undefined,
    BillableTimeInSeconds: hasTrained && hasEnded(record) ? wholeSeconds(billableSeconds) : undefined,
  });
}

/** What Describe gives back as it was sent; Tags is not among it. */
function requestMembers(request: JobRecord['request']): Json {
  const { Tags: _tags, SessionChainingConfig: _session, ...members } = request;
  return {
    EnableNetworkIsolation: false,
    EnableInterContainerTrafficEncryption: false,
    EnableManagedSpotTraining: false,
    ...members,
    StoppingCondition: { MaxRuntimeInSeconds: 86_400, ...request.StoppingCondition },
    ...(request.CheckpointConfig
      ? { CheckpointConfig: { LocalPath: '/opt/ml/checkpoints/', ...request.CheckpointConfig } }
      : {}),
  };
}

export function summariseJob(record: JobRecord): Json {
  return withoutAbsent({
    TrainingJobName: record.name,
    TrainingJobArn: record.arn,
    CreationTime: epochSeconds(record.createdAt),
    TrainingEndTime: epochSeconds(record.trainingEndedAt),
    LastModifiedTime: epochSeconds(record.modifiedAt),
    TrainingJobStatus: record.status,
    SecondaryStatus: record.secondaryStatus,
  });
}

/** The `detail` of "SageMaker Training Job State Change". */
export function eventDetail(record: JobRecord): Json {
  const { request } = record;
  return {
    TrainingJobName: record.name,
    TrainingJobArn: record.arn,
    TrainingJobStatus: record.status,
    SecondaryStatus: record.secondaryStatus,
    FailureReason: record.failureReason ?? null,
    HyperParameters: request.HyperParameters ?? {},
    AlgorithmSpecification: request.AlgorithmSpecification,
    RoleArn: request.RoleArn,
    InputDataConfig: request.InputDataConfig ?? [],
    OutputDataConfig: request.OutputDataConfig,
    ResourceConfig: request.ResourceConfig,
    ...(request.VpcConfig ? { VpcConfig: request.VpcConfig } : {}),
    StoppingCondition: request.StoppingCondition,
    CreationTime: record.createdAt,
    TrainingStartTime: record.trainingStartedAt ?? null,
    TrainingEndTime: record.trainingEndedAt ?? null,
    LastModifiedTime: record.modifiedAt,
    SecondaryStatusTransitions: record.transitions.map((transition) => ({
      Status: transition.status,
      StartTime: transition.startedAt,
      EndTime: transition.endedAt ?? null,
      StatusMessage: transition.message ?? '',
    })),
    Tags: record.tags,
  };
}

const withoutAbsent = (members: Json): Json =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
