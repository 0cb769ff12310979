/**
 * Builds the request of a training job from a run, its placement and its declaration. Pure: the same input gives the
 * same request, so a repeated launch requests the same job.
 */
import { isDeepStrictEqual } from 'node:util';
import { instanceFacts } from '@tidewheel/catalog/catalog.ts';
import { chooseInput, type InputChoice } from '@tidewheel/catalog/data-on-hosts.ts';
import { imageFor, imageProblem } from '@tidewheel/catalog/images.ts';
import { knownSizes, type TrainingType, trainingType } from '@tidewheel/declaration/instance-types.ts';
import { frameworkVersionOf, type Pipeline, TRAINING_GROUP } from '@tidewheel/declaration/pipeline.ts';
import type { Problem } from '@tidewheel/kit/errors.ts';
import { asSelected, namedPools, type Placement } from '@tidewheel/placement/records.ts';
import type { PreparedObject } from '../job/job-channels.ts';
import { downloadQuestion } from '../job/job-document.ts';
import { AGENT_PATH, type JobInput, jobParts } from '../job/job-parts.ts';
import type {
  CreateTrainingJobRequest,
  InstanceGroupRequest,
  ResourceConfigRequest,
} from '../job/request.ts';
import { requestProblems } from './request-problems.ts';

export interface TrainingJobInput extends JobInput {
  /** The job's execution role. */
  readonly roleArn: string;
  /** The customer key of the data bucket, in its own region. Without it SageMaker writes models under AWS's key. */
  readonly kmsKey?: string | undefined;
}

export type BuiltTrainingJob =
  | {
      readonly kind: 'request';
      readonly request: CreateTrainingJobRequest;
      /** To be written to the bucket before the job is created. */
      readonly objects: readonly PreparedObject[];
      /** How the shards reach the script, and why. */
      readonly input: InputChoice;
    }
  /** Paths as in the declaration. */
  | { readonly kind: 'problems'; readonly problems: readonly Problem[] };

export function buildTrainingJob(input: TrainingJobInput): BuiltTrainingJob {
  const problems: Problem[] = [...helperProblems(input)];
  /** Keeps a problem and continues with a placeholder, so that all problems are found. */
  const take = <T extends object>(answer: T | { readonly problem: Problem }, standIn: T): T => {
    if (!('problem' in answer)) return answer;
    problems.push(answer.problem);
    return standIn;
  };
  const resources = take(resourcesOf(input.placement, input.declaration.compute), NO_RESOURCES);
  const { image } = take(imageOf(input, resources.device), { image: 'none' });
  const vpc = take(vpcOf(input.placement, input.declaration.compute), {});
  const chosen = take(chooseInput(downloadQuestion(input)), {
    mode: 'File',
    reason: '',
  } satisfies InputChoice);
  const {
    parts,
    objects,
    problems: ofParts,
  } = jobParts(input, {
    inputMode: chosen.mode,
    groups: resources.groups,
  });
  const request: CreateTrainingJobRequest = {
    ...parts,
    OutputDataConfig: {
      ...parts.OutputDataConfig,
      ...(input.kmsKey !== undefined && { KmsKeyId: input.kmsKey }),
    },
    RoleArn: input.roleArn,
    AlgorithmSpecification: algorithm(image),
    ResourceConfig: resources.config,
    ...vpc,
    ...stopping(input.placement),
    ...CONTAINER_POLICY,
  };
  problems.push(...ofParts, ...requestProblems(request));
  if (problems.length > 0) return { kind: 'problems', problems };
  return { kind: 'request', request, objects, input: chosen };
}

/**
 * The job's request with every type that the placement names and that needs the same request in all else: image, disk, input
 * mode. https://docs.aws.amazon.com/sagemaker/latest/dg/train-instance-preferences.html
 * @returns undefined where there is no second type
 */
export function withPreferences(
  input: TrainingJobInput,
  request: CreateTrainingJobRequest,
): CreateTrainingJobRequest | undefined {
  const { InstanceType: _first, ...ResourceConfig } = request.ResourceConfig;
  const types = namedPools(input.placement).flatMap(({ instanceType }) => {
    const built = buildTrainingJob({ ...input, placement: asSelected(input.placement, instanceType) });
    if (built.kind === 'problems') return [];
    const { InstanceType, ...config } = built.request.ResourceConfig;
    const isAlike = isDeepStrictEqual(
      { ...built.request, ResourceConfig: config },
      { ...request, ResourceConfig },
    );
    return isAlike && InstanceType !== undefined ? [{ InstanceType }] : [];
  });
  return types.length < 2
    ? undefined
    : { ...request, ResourceConfig: { ...ResourceConfig, InstancePreferences: types } };
}

const NO_RESOURCES: Resources = { config: { InstanceType: 'ml.m5.large', InstanceCount: 1 }, device: 'cpu' };

/** Settings of every job. */
const CONTAINER_POLICY = {
  // With isolation the container could not install the source's requirements from the package index.
  EnableNetworkIsolation: false,
  // Only the hosts of one job exchange gradients. Many Nitro types encrypt that traffic in hardware, and SageMaker's own
  // encryption slows distributed training.
  // https://docs.aws.amazon.com/sagemaker/latest/dg/train-encrypt.html
  EnableInterContainerTrafficEncryption: false,
} as const;

const algorithm = (image: string): CreateTrainingJobRequest['AlgorithmSpecification'] => ({
  TrainingImage: image,
  TrainingInputMode: 'File',
  ContainerEntrypoint: ['python3', AGENT_PATH],
  MetricDefinitions: metricDefinitions(),
  EnableSageMakerMetricsTimeSeries: true,
});

/** SageMaker refuses a wait limit without managed Spot, and managed Spot without a wait limit. */
function stopping({ pool, maximumRunSeconds, maximumWaitSeconds }: Placement) {
  const spot = pool.purchaseOption === 'spot';
  return {
    EnableManagedSpotTraining: spot,
    StoppingCondition: {
      MaxRuntimeInSeconds: maximumRunSeconds,
      ...(spot && maximumWaitSeconds !== undefined ? { MaxWaitTimeInSeconds: maximumWaitSeconds } : {}),
    },
  };
}

function imageOf(
  { declaration, placement, region }: TrainingJobInput,
  device: Resources['device'],
): { readonly image: string } | { readonly problem: Problem } {
  const { image, framework } = declaration.training;
  if (image !== undefined) return { image };
  const answer = imageFor({
    framework,
    version: frameworkVersionOf(declaration.training),
    region,
    device,
    accelerator: instanceFacts(placement.pool.instanceType)?.accelerator,
  });
  if (answer.kind === 'image') return { image: answer.uri };
  return { problem: imageProblem(answer) };
}

/** No document or report says whether SageMaker accepts managed Spot with instance groups. */
function helperProblems({ declaration: { compute }, placement }: TrainingJobInput): Problem[] {
  const { helpers, spotWithHelpers } = compute;
  if (helpers === undefined || placement.pool.purchaseOption !== 'spot' || spotWithHelpers) return [];
  const message =
    'AWS does not say whether managed Spot works with helper groups: set compute.purchaseOption to on-demand, or try it with tuning.compute.spotWithHelpers: true';
  return [{ path: 'compute.helpers', message }];
}

/**
 * The metrics that SageMaker reads from the log. The agent prints lines such as
 * `tidewheel step=120 total=480 loss=0.1234 accuracy=0.97`
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_MetricDefinition.html
 */

/** A finite decimal number. SageMaker publishes the first group of a definition. */
const NUMBER = '([-+]?[0-9]*[.]?[0-9]+(?:[eE][-+]?[0-9]+)?)';

/** Fields after the step. The space before the name separates loss from val_loss. */
const FIELDS = ['total', 'loss', 'accuracy'] as const;

/** Each host prints every minute: `[tidewheel] usage host=algo-1 cpu_percent=93.1 data_wait_percent=12`. */
const USAGE = [
  'cpu_percent',
  'memory_bytes',
  'gpu_percent',
  'gpu_memory_percent',
  'data_wait_percent',
  'disk_read_bytes_per_second',
  'network_received_bytes_per_second',
  // Of all training processes of the host, over the minute.
  'samples_per_second',
  'step_seconds',
  'step_seconds_p95',
] as const;

/** The host that saves prints: `[tidewheel] checkpoint age_seconds=60 step=120 size_bytes=48211 save_seconds=1.2`. */
const CHECKPOINT = ['age_seconds', 'save_seconds'] as const;

const metricDefinitions = (): { Name: string; Regex: string }[] => [
  { Name: 'tidewheel:step', Regex: `tidewheel step=${NUMBER}` },
  ...FIELDS.map((field) => ({
    Name: `tidewheel:${field}`,
    Regex: `tidewheel step=[0-9]+.* ${field}=${NUMBER}`,
  })),
  ...USAGE.map((field) => ({
    Name: `tidewheel:${field}`,
    Regex: `\\[tidewheel\\] usage host=.* ${field}=${NUMBER}`,
  })),
  ...CHECKPOINT.map((field) => ({
    Name: `tidewheel:checkpoint_${field}`,
    Regex: `\\[tidewheel\\] checkpoint .*${field}=${NUMBER}`,
  })),
  // Published only during a stall of checkpoints, so that an alarm can use it.
  { Name: 'tidewheel:checkpoint_stalled_seconds', Regex: `no new complete checkpoint for ${NUMBER} s` },
];

type VpcPart = Pick<CreateTrainingJobRequest, 'VpcConfig'>;

/** A single subnet in the placement's zone, so that SageMaker cannot split a gang. */
function vpcOf(
  { pool, subnetId }: Placement,
  { vpc }: Pipeline['compute'],
): VpcPart | { readonly problem: Problem } {
  if (vpc === undefined) return {};
  const subnets = chosenSubnets(vpc.subnets, pool.zoneId, subnetId);
  if (subnets.length === 0) {
    const zones = [...new Set(vpc.subnets.map(({ zoneId }) => zoneId))].join(', ');
    const wanted = subnetId ?? `a subnet in ${pool.zoneId ?? 'any zone'}`;
    return {
      problem: {
        path: 'compute.vpc.subnets',
        message: `the placement needs ${wanted}, but the declared subnets are in ${zones}: add one`,
      },
    };
  }
  return { VpcConfig: { SecurityGroupIds: [...vpc.securityGroupIds], Subnets: subnets } };
}

/** A placement without a zone offers every subnet, and SageMaker chooses. */
function chosenSubnets(
  declared: NonNullable<Pipeline['compute']['vpc']>['subnets'],
  zoneId: string | undefined,
  subnetId: string | undefined,
): string[] {
  if (subnetId !== undefined) return declared.filter(({ id }) => id === subnetId).map(({ id }) => id);
  if (zoneId === undefined) return declared.map(({ id }) => id);
  return declared
    .filter((subnet) => subnet.zoneId === zoneId)
    .slice(0, 1)
    .map(({ id }) => id);
}

// The ResourceConfig of a training job: its instances and their volumes.

interface Resources {
  readonly config: ResourceConfigRequest;
  /** The device that the image must support. One image serves all groups, and a GPU image also runs without a GPU. */
  readonly device: TrainingType['device'];
  /** All group names, the training group first; undefined for one kind of nodes. */
  readonly groups?: readonly string[] | undefined;
}

function resourcesOf(
  { pool, topology }: Placement,
  { volumeGigabytes, helpers }: Pipeline['compute'],
): Resources | { readonly problem: Problem } {
  const type = trainingType(pool.instanceType);
  if (type === undefined) return { problem: unknownType('compute.instanceTypes', pool.instanceType) };
  if (helpers === undefined) {
    const config = {
      InstanceType: type.name,
      InstanceCount: topology.nodes,
      ...(pool.reservation !== undefined && { TrainingPlanArn: pool.reservation }),
      ...volume([type], volumeGigabytes),
    };
    return { device: type.device, config };
  }
  const types = [type];
  const groups = [group(TRAINING_GROUP, type, topology.nodes)];
  for (const [index, helper] of helpers.entries()) {
    const helperType = trainingType(helper.instanceType);
    if (helperType === undefined) {
      return { problem: unknownType(`compute.helpers[${index}].instanceType`, helper.instanceType) };
    }
    types.push(helperType);
    groups.push(group(helper.name, helperType, helper.nodes));
  }
  return {
    device: type.device,
    config: { InstanceGroups: groups, ...volume(types, volumeGigabytes) },
    groups: groups.map(({ InstanceGroupName }) => InstanceGroupName),
  };
}

const group = (name: string, type: TrainingType, nodes: number): InstanceGroupRequest => ({
  InstanceGroupName: name,
  InstanceType: type.name,
  InstanceCount: nodes,
});

/**
 * SageMaker refuses a volume size for a type with NVMe unless it equals the NVMe's, so the size is sent only if a group
 * needs an EBS volume. VolumeKmsKeyId is not sent, because types with NVMe refuse it and EBS is encrypted without it.
 */
const volume = (types: readonly TrainingType[], gigabytes: number): { readonly VolumeSizeInGB?: number } =>
  types.every(({ localStorage }) => localStorage) ? {} : { VolumeSizeInGB: gigabytes };

function unknownType(path: string, instanceType: string): Problem {
  const sizes = knownSizes(instanceType);
  const remedy =
    sizes.length > 0
      ? `use ${sizes.join(', ')}`
      : 'use a type of a training family such as c5, m5, g5, g6, p4d or p5';
  return { path, message: `SageMaker does not train on "${instanceType}": ${remedy}` };
}
