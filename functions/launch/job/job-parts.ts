/**
 * The parts of a training job that all launchers share: its name, hyperparameters, channels, and the places of its
 * checkpoints and model.
 */

import type { FactsOf } from '@tidewheel/catalog/catalog.ts';
import type { InputMode } from '@tidewheel/catalog/data-on-hosts.ts';
import {
  AGENT_FILE,
  type AgentFile,
  bucketKeys,
  HOOK_FILES,
  s3Uri,
} from '@tidewheel/contract/bucket-keys.ts';
import { strategyTraits } from '@tidewheel/declaration/launchers.ts';
import { isUnpacked, partsOf } from '@tidewheel/declaration/packing-settings.ts';
import {
  entryPointOf,
  indexCredentialsArn,
  indexUrl,
  type Pipeline,
} from '@tidewheel/declaration/pipeline.ts';
import {
  CURRENT_CHANNEL,
  MODEL_CHANNEL,
  neededChannels,
  SHARDS_CHANNEL,
  shardsChannel,
} from '@tidewheel/declaration/script.ts';
import type { Problem } from '@tidewheel/kit/errors.ts';
import type { Placement } from '@tidewheel/placement/records.ts';
import type { Archive } from '../../records/models.ts';
import type { GenerationShards } from '../../records/run-dataset.ts';
import { encodeHyperparameters, scriptParameters } from './hyperparameters.ts';
import {
  declaredChannelProblems,
  declaredChannels,
  generationProblems,
  jobChannels,
  modelChannel,
  type PreparedObject,
} from './job-channels.ts';
import { jobNameOf, jobSaltOf } from './job-name.ts';
import type { CreateTrainingJobRequest } from './request.ts';

/** A launcher's input for an attempt's job. */
export interface JobInput {
  readonly runId: string;
  readonly attempt: number;
  readonly declaration: Pipeline;
  readonly placement: Placement;
  /** The bucket in the job's region. */
  readonly bucket: string;
  /** The data bucket, from which job names derive; absent if it is `bucket`. */
  readonly dataBucket?: string | undefined;
  readonly region: string;
  /** The data bucket's region; absent if it is `region`. */
  readonly dataRegion?: string | undefined;
  /** Key prefix of the agent's files, `bucketKeys.agent(digest)`. */
  readonly agentPrefix: string;
  /** Digest of the pinned source; absent if the source is in another bucket and is used unpacked. */
  readonly sourceDigest?: string | undefined;
  /** Generations to train on, oldest first. */
  readonly generations: readonly GenerationShards[];
  /** URIs of the lists (S3DataType ManifestFile) of declared channels that have one, by channel. */
  readonly channelLists?: ReadonlyMap<string, string> | undefined;
  /** The archive that the run begins from, by `training.startFrom`. */
  readonly model?: Archive | undefined;
  /** The archive of the model in use, where the evaluation scores it, too. */
  readonly currentModel?: Archive | undefined;
  /** It trains nothing: the evaluation runs alone. */
  readonly isEvaluation?: boolean | undefined;
  /** The computed interval between checkpoints; the agent passes it to the script. */
  readonly checkpointSeconds?: number | undefined;
  /** What the account's EC2 answered of hardware; default: the snapshot's. */
  readonly hardware?: FactsOf | undefined;
}

const CHECKPOINT_PATH = '/opt/ml/checkpoints';
export const AGENT_PATH = `/opt/ml/input/data/agent/${AGENT_FILE}`;
/** Python's logging.INFO, as SageMaker's SDK sends it. */
const LOG_LEVEL_INFO = 20;

/** What a job needs of the agent's files. */
export const agentFilesOf = ({ checkpoint, instrument }: Pipeline['training']): readonly AgentFile[] => [
  AGENT_FILE,
  ...(instrument === false ? [] : [HOOK_FILES.instrument]),
  ...(checkpoint === 'automatic' ? [HOOK_FILES.automatic] : []),
];

export type JobParts = Pick<
  CreateTrainingJobRequest,
  | 'TrainingJobName'
  | 'OutputDataConfig'
  | 'CheckpointConfig'
  | 'Tags'
  | 'HyperParameters'
  | 'InputDataConfig'
  | 'Environment'
>;

export interface JobPartsResult {
  readonly parts: JobParts;
  /** To be written to the bucket before the job starts. */
  readonly objects: readonly PreparedObject[];
  readonly problems: readonly Problem[];
}

export interface JobChoices {
  readonly inputMode: InputMode;
  /** Names of all instance groups, the training group first; absent for one kind of nodes. */
  readonly groups?: readonly string[] | undefined;
  /** Why a file system cannot be a channel; absent if the launcher mounts file systems. */
  readonly whyNoFileSystems?: string | undefined;
}

export function jobParts(
  input: JobInput,
  { inputMode, groups, whyNoFileSystems }: JobChoices,
): JobPartsResult {
  const { declaration, bucket } = input;
  const channelsInput = {
    ...input,
    generations: input.generations.filter(({ isUnpacked }) => isUnpacked !== true),
    pipeline: declaration.name,
    sourceUri: sourceUriOf(input),
    inputMode,
    processesPerHost: processesOf(input),
    shuffleSeed: declaration.packing.seed,
    distribution: declaration.training.distribution,
    declared: Object.keys(declaration.training.channels ?? {}),
    groups,
  };
  const { channels, objects } = jobChannels(channelsInput);
  const models = [
    modelChannel(MODEL_CHANNEL, input.model, input, groups),
    modelChannel(CURRENT_CHANNEL, input.currentModel, input, groups),
  ];
  return {
    parts: {
      TrainingJobName: jobNameOf(input.runId, input.attempt, jobSaltOf(input.dataBucket ?? bucket)),
      OutputDataConfig: { S3OutputPath: s3Uri(bucket, bucketKeys.models(declaration.name, input.runId)) },
      CheckpointConfig: {
        S3Uri: s3Uri(bucket, bucketKeys.checkpoints(declaration.name, input.runId)),
        LocalPath: CHECKPOINT_PATH,
      },
      Tags: tagsOf(input),
      HyperParameters: hyperparametersOf(input, groups),
      InputDataConfig: [
        ...channels,
        ...declaredChannels(declaration, groups, input.dataBucket ?? bucket, input.channelLists),
        ...models.flatMap((model) => model.channels),
      ],
      Environment: environmentOf(input),
    },
    objects: [...objects, ...models.flatMap((model) => model.objects)],
    problems: [
      ...reservedNameProblems(declaration),
      ...sourceProblems(declaration),
      ...shardsProblems(input),
      ...declaredChannelProblems(declaration, {
        isOtherRegion: input.dataBucket !== undefined,
        whyNoFileSystems,
      }),
      ...generationProblems(channelsInput).map((message) => ({ path: 'generations', message })),
    ],
  };
}

/** Counted as the agent does: as declared, or one per accelerator if the strategy uses several processes. */
function processesOf({ declaration: { training }, placement }: JobInput): number {
  if (strategyTraits[training.strategy].processes === 'one') return 1;
  return training.processesPerHost ?? Math.max(1, placement.topology.acceleratorsPerNode);
}

/**
 * What only the container reads: the package index, what gives its credentials, and where wheels are kept. These are in
 * the data bucket for all regions, so that no attempt of a run installs others.
 */
function environmentOf(input: JobInput): Record<string, string> {
  const { declaration, placement } = input;
  const { packageIndex, model = 'required' } = declaration.training;
  const { hangSeconds } = declaration.limits;
  const wheels = s3Uri(input.dataBucket ?? input.bucket, bucketKeys.wheels(declaration.name));
  const [url, arn] = packageIndex ? [indexUrl(packageIndex), indexCredentialsArn(packageIndex)] : [];
  return {
    TIDEWHEEL_SPOT: placement.pool.purchaseOption === 'spot' ? '1' : '0',
    TIDEWHEEL_MODEL: model,
    ...(hangSeconds !== undefined && { TIDEWHEEL_HANG_SECONDS: String(hangSeconds) }),
    TIDEWHEEL_WHEELS: `${input.dataRegion ?? input.region} ${wheels}`,
    ...(url !== undefined && { TIDEWHEEL_INDEX_URL: url }),
    ...(arn !== undefined && { TIDEWHEEL_INDEX_SECRET: arn }),
  };
}

const tagsOf = ({ declaration, runId, attempt }: JobInput) => [
  { Key: 'tidewheel:pipeline', Value: declaration.name },
  { Key: 'tidewheel:run', Value: runId },
  { Key: 'tidewheel:attempt', Value: String(attempt) },
  ...(declaration.owner === undefined ? [] : [{ Key: 'tidewheel:owner', Value: declaration.owner }]),
  ...Object.entries(declaration.tags ?? {}).map(([Key, Value]) => ({ Key, Value })),
];

function hyperparametersOf(input: JobInput, groups: readonly string[] | undefined): Record<string, string> {
  const { training } = input.declaration;
  const { checkpointSeconds } = input;
  return encodeHyperparameters({
    ...training.hyperparameters,
    ...programOf(training),
    ...scriptParameters(training, input.declaration.limits, evaluationIn(input)),
    sagemaker_job_name: jobNameOf(input.runId, input.attempt, jobSaltOf(input.dataBucket ?? input.bucket)),
    sagemaker_region: input.region,
    sagemaker_container_log_level: LOG_LEVEL_INFO,
    tidewheel_strategy: training.strategy,
    tidewheel_run_id: input.runId,
    ...(training.processesPerHost === undefined
      ? {}
      : { tidewheel_processes_per_host: training.processesPerHost }),
    ...(training.pinGpus === undefined ? {} : { tidewheel_pin_gpus: training.pinGpus }),
    // Without it the container treats its own group as the training group, and every group starts a cluster.
    ...(groups === undefined
      ? {}
      : {
          sagemaker_distribution_instance_groups:
            strategyTraits[training.strategy].otherGroups === 'joinCluster' ? groups : groups.slice(0, 1),
        }),
    ...(checkpointSeconds === undefined ? {} : { tidewheel_checkpoint_seconds: checkpointSeconds }),
    // The agent compares it with the archive that it unpacks.
    ...(input.sourceDigest === undefined ? {} : { tidewheel_source: input.sourceDigest }),
    ...(input.model === undefined ? {} : { tidewheel_model: input.model.digest ?? 'unknown' }),
  });
}

/** The evaluation as the agent reads it. */
const evaluationIn = ({ declaration: { evaluation }, currentModel, isEvaluation }: JobInput) =>
  evaluation && {
    entryPoint: evaluation.entryPoint,
    arguments: evaluation.arguments,
    maximumSeconds: evaluation.maximumSeconds,
    current: currentModel?.digest,
    ...(isEvaluation === true && { isAlone: true }),
  };

/** A command stands in the document of the script. */
function programOf(training: Pipeline['training']): Record<string, string> {
  const program = entryPointOf(training);
  return program === undefined ? {} : { sagemaker_program: program };
}

const reservedNameProblems = ({ training }: Pipeline): Problem[] =>
  Object.keys(training.hyperparameters)
    .filter((name) => /^(sagemaker_|tidewheel_)/.test(name))
    .map((name) => ({
      path: `training.hyperparameters.${name}`,
      message: 'this name is reserved: choose another',
    }));

/** The packed source, or the declared `s3://bucket/prefix/`, or a folder of the pipeline. */
function sourceUriOf({ bucket, sourceDigest, declaration: { name, training } }: JobInput): string {
  if (sourceDigest !== undefined) return s3Uri(bucket, bucketKeys.packedSource(name, sourceDigest));
  return training.source.startsWith('s3://')
    ? training.source
    : s3Uri(bucket, bucketKeys.sourceAt(name, training.source));
}

function shardsProblems({ declaration: { training, packing }, generations }: JobInput): Problem[] {
  // Its files are in channels of their own, and the launch says which of those has none.
  if (isUnpacked(packing)) return [];
  const needed = neededChannels(training);
  const path = 'training.arguments';
  const channelOf = (split: string) => shardsChannel(split, Object.keys(training.channels ?? {}));
  if (generations.length === 0 && needed.includes(channelOf(SHARDS_CHANNEL))) {
    const message = `name \${channel:${channelOf(SHARDS_CHANNEL)}}, and nothing was packed yet: drop files under incoming/ first, or end the argument with ?`;
    return [{ path, message }];
  }
  const parts = packing.split === undefined ? [] : partsOf(packing.split);
  return parts
    .filter(
      (name) =>
        needed.includes(channelOf(name)) && !generations.some(({ split = SHARDS_CHANNEL }) => split === name),
    )
    .map((name) => ({
      path,
      message: `name \${channel:${channelOf(name)}}, and no sample of that split was packed yet: drop more files under incoming/, or end the argument with ?`,
    }));
}

function sourceProblems({ training: { source } }: Pipeline): Problem[] {
  if (!source.split('/').some((part) => part === '..' || part === '.')) return [];
  return [{ path: 'training.source', message: `"${source}" must be a plain prefix: remove "." and ".."` }];
}
