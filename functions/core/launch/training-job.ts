/**
 * From a run, its placement and its declaration to the request that starts the training job. Pure: the same input gives
 * the same request, so a launch that is tried twice asks for the same job.
 */
import type { Problem } from '../errors.ts';
import { layout, s3Uri } from '../layout.ts';
import type { Pipeline } from '../pipeline.ts';
import type { Placement } from '../records.ts';
import { channelsOf, type GenerationShards, generationProblems, type PreparedObject } from './channels.ts';
import { encodeHyperparameters } from './hyperparameters.ts';
import { imageFor } from './images.ts';
import { jobNameOf, jobSaltOf } from './job-name.ts';
import { metricDefinitions } from './metrics.ts';
import type { CreateTrainingJobRequest } from './request.ts';
import { requestProblems } from './request-problems.ts';
import { type Resources, resourcesOf } from './resources.ts';
import { vpcOf } from './vpc.ts';

export interface TrainingJobInput {
  readonly runId: string;
  readonly attempt: number;
  readonly declaration: Pipeline;
  readonly placement: Placement;
  readonly bucket: string;
  readonly region: string;
  /** The role that the job runs under; the caller needs iam:PassRole for it. */
  readonly roleArn: string;
  /** Key prefix of the agent's files, `layout.agent(digest)`. */
  readonly agentPrefix: string;
  /** Generations to train on, oldest first. */
  readonly generations: readonly GenerationShards[];
  /** How often to save, as the policy computed it; the agent tells the script. */
  readonly checkpointSeconds?: number | undefined;
}

export type TrainingJob =
  | {
      readonly kind: 'request';
      readonly request: CreateTrainingJobRequest;
      /** To be written to the bucket before the job is created. */
      readonly objects: readonly PreparedObject[];
    }
  /** Paths as in the declaration. */
  | { readonly kind: 'problems'; readonly problems: readonly Problem[] };

export const CHECKPOINT_PATH = '/opt/ml/checkpoints';
/** A folder with a __main__.py, which Python runs as a program. */
const AGENT_PATH = '/opt/ml/input/data/agent';
/** Python's logging.INFO, as SageMaker's SDK sends it. */
const LOG_LEVEL_INFO = 20;

export function buildTrainingJob(input: TrainingJobInput): TrainingJob {
  const problems: Problem[] = [...hyperparameterNameProblems(input.declaration), ...helperProblems(input)];
  /** Keeps every problem and goes on with a stand-in, so that all are found at once. */
  const take = <T extends object>(answer: T | { readonly problem: Problem }, standIn: T): T => {
    if (!('problem' in answer)) return answer;
    problems.push(answer.problem);
    return standIn;
  };
  const resources = take(resourcesOf(input.placement, input.declaration.compute), NO_RESOURCES);
  const { image } = take(imageOf(input, resources.device), { image: 'none' });
  const { uri: sourceUri } = take(sourceOf(input), {
    uri: s3Uri(input.bucket, layout.source(input.declaration.name)),
  });
  const vpc = take(vpcOf(input.placement, input.declaration.compute), {});
  const channelsInput = {
    ...input,
    pipeline: input.declaration.name,
    sourceUri,
    inputMode: 'File',
    distribution: input.declaration.training.distribution,
    groups: resources.groups,
  } as const;
  problems.push(...generationProblems(channelsInput).map((message) => ({ path: 'generations', message })));
  const { channels, objects } = channelsOf(channelsInput);
  const request: CreateTrainingJobRequest = {
    ...identity(input),
    AlgorithmSpecification: algorithm(image),
    HyperParameters: hyperparametersOf(input, resources.groups),
    InputDataConfig: channels,
    ResourceConfig: resources.config,
    ...vpc,
    ...stopping(input.placement),
    ...CONTAINER_POLICY,
    Environment: { TIDEWHEEL_SPOT: input.placement.pool.market === 'spot' ? '1' : '0' },
  };
  problems.push(...requestProblems(request));
  return problems.length === 0 ? { kind: 'request', request, objects } : { kind: 'problems', problems };
}

const NO_RESOURCES: Resources = { config: { InstanceType: 'ml.m5.large', InstanceCount: 1 }, device: 'cpu' };

/** What is the same for every job, and why. */
const CONTAINER_POLICY = {
  // Isolation would cut the container off from the package index that the source's requirements come from.
  EnableNetworkIsolation: false,
  // Gradients cross between the hosts of one job only; Nitro instances encrypt that in hardware, and SageMaker's own
  // encryption slows distributed training down.
  // https://docs.aws.amazon.com/sagemaker/latest/dg/train-encrypt.html
  EnableInterContainerTrafficEncryption: false,
} as const;

function identity({ runId, attempt, bucket, roleArn, declaration }: TrainingJobInput) {
  const { name } = declaration;
  return {
    TrainingJobName: jobNameOf(runId, attempt, jobSaltOf(bucket)),
    RoleArn: roleArn,
    OutputDataConfig: { S3OutputPath: s3Uri(bucket, layout.models(name, runId)) },
    CheckpointConfig: { S3Uri: s3Uri(bucket, layout.checkpoints(name, runId)), LocalPath: CHECKPOINT_PATH },
    Tags: [
      { Key: 'tidewheel:pipeline', Value: name },
      { Key: 'tidewheel:run', Value: runId },
      { Key: 'tidewheel:attempt', Value: String(attempt) },
    ],
  };
}

const algorithm = (image: string): CreateTrainingJobRequest['AlgorithmSpecification'] => ({
  TrainingImage: image,
  TrainingInputMode: 'File',
  ContainerEntrypoint: ['python3', AGENT_PATH],
  MetricDefinitions: metricDefinitions(),
  EnableSageMakerMetricsTimeSeries: true,
});

/** SageMaker refuses a wait limit without managed Spot, and managed Spot without a wait limit. */
function stopping({ pool, maximumRunSeconds, maximumWaitSeconds }: Placement) {
  const spot = pool.market === 'spot';
  return {
    EnableManagedSpotTraining: spot,
    StoppingCondition: {
      MaxRuntimeInSeconds: maximumRunSeconds,
      ...(spot && maximumWaitSeconds !== undefined ? { MaxWaitTimeInSeconds: maximumWaitSeconds } : {}),
    },
  };
}

function hyperparametersOf(input: TrainingJobInput, groups: Resources['groups']): Record<string, string> {
  const { training } = input.declaration;
  return encodeHyperparameters({
    ...training.hyperparameters,
    sagemaker_program: training.entryPoint,
    sagemaker_job_name: jobNameOf(input.runId, input.attempt, jobSaltOf(input.bucket)),
    sagemaker_region: input.region,
    sagemaker_container_log_level: LOG_LEVEL_INFO,
    tidewheel_strategy: training.strategy,
    tidewheel_run_id: input.runId,
    // Without it the container takes its own group for the one that trains, and every group starts a cluster.
    ...(groups === undefined ? {} : { sagemaker_distribution_instance_groups: groups.slice(0, 1) }),
    ...(input.checkpointSeconds === undefined
      ? {}
      : { tidewheel_checkpoint_seconds: input.checkpointSeconds }),
  });
}

const hyperparameterNameProblems = ({ training }: Pipeline): Problem[] =>
  Object.keys(training.hyperparameters)
    .filter((name) => /^(sagemaker_|tidewheel_)/.test(name))
    .map((name) => ({
      path: `training.hyperparameters.${name}`,
      message: 'this name is reserved, choose another',
    }));

function imageOf(
  { declaration, region }: TrainingJobInput,
  device: Resources['device'],
): { readonly image: string } | { readonly problem: Problem } {
  const { image, framework, frameworkVersion } = declaration.training;
  if (image !== undefined) return { image };
  const answer = imageFor({ framework, version: frameworkVersion, region, device });
  if (answer.kind === 'image') return { image: answer.uri };
  const path =
    answer.field === 'region'
      ? 'region'
      : answer.field === 'device'
        ? 'training.image'
        : `training.${answer.field}`;
  return { problem: { path, message: answer.message } };
}

/** Neither a document nor a report says whether SageMaker takes managed Spot together with instance groups. */
function helperProblems({ declaration: { compute }, placement }: TrainingJobInput): Problem[] {
  const { helpers, spotWithHelpers } = compute;
  if (helpers === undefined || placement.pool.market !== 'spot' || spotWithHelpers) return [];
  const message =
    'AWS does not say whether managed Spot works with helper groups: set compute.market to on-demand, or try it with compute.spotWithHelpers: true';
  return [{ path: 'compute.helpers', message }];
}

/** `s3://bucket/prefix/` as it stands, anything else under the pipeline's own folder. */
function sourceOf({
  bucket,
  declaration,
}: TrainingJobInput): { readonly uri: string } | { readonly problem: Problem } {
  const { source } = declaration.training;
  if (source.split('/').some((part) => part === '..' || part === '.')) {
    return {
      problem: {
        path: 'training.source',
        message: `"${source}" must be a plain prefix, leave out "." and ".."`,
      },
    };
  }
  return {
    uri: source.startsWith('s3://') ? source : s3Uri(bucket, layout.sourceAt(declaration.name, source)),
  };
}
