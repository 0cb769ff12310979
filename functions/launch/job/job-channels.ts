/** The input channels of a training job: the shards, the user's code, the agent. */
import type { InputMode } from '@tidewheel/catalog/data-on-hosts.ts';
import { bucketKeys, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import { isUnpacked, SPLITS, type SplitName } from '@tidewheel/declaration/packing-settings.ts';
import { channelsOf, type Pipeline, type ScriptChannel } from '@tidewheel/declaration/pipeline.ts';
import {
  type CURRENT_CHANNEL,
  type MODEL_CHANNEL,
  prefixUri,
  shardsChannel,
} from '@tidewheel/declaration/script.ts';
import type { Problem } from '@tidewheel/kit/errors.ts';
import type { GenerationShards } from '../../records/run-dataset.ts';
import type { ChannelRequest } from './request.ts';

export interface ChannelsInput {
  readonly bucket: string;
  readonly pipeline: string;
  readonly runId: string;
  readonly generations: readonly GenerationShards[];
  readonly sourceUri: string;
  readonly agentPrefix: string;
  readonly inputMode: InputMode;
  /** Processes of a host that read the shards. A Pipe has one reader, so each process gets its own channel. */
  readonly processesPerHost?: number | undefined;
  /** Seed of the order in which a Pipe delivers the shards. */
  readonly shuffleSeed?: number | undefined;
  readonly distribution: 'FullyReplicated' | 'ShardedByS3Key';
  /** Names of the channels that the declaration adds. */
  readonly declared?: readonly string[] | undefined;
  /** Names of all instance groups if the job has several. Then every channel must name its groups. */
  readonly groups?: readonly string[] | undefined;
}

/** An object to write to the bucket before the job is created. */
export interface PreparedObject {
  readonly key: string;
  readonly text: string;
}

export interface Channels {
  readonly channels: ChannelRequest[];
  readonly objects: readonly PreparedObject[];
}

/** Channel names become folders under /opt/ml/input/data and SM_CHANNEL_* variables. */
const CHANNEL = { shards: 'train', source: 'code', agent: 'agent' } as const;

/** The channel of a host's n-th process. Not `train_1`: that is the FIFO of `train` in its second epoch. */
const pipeChannel = (ofShards: string, process: number): string =>
  process === 0 ? ofShards : `${ofShards}-${process}`;

export function jobChannels(input: ChannelsInput): Channels {
  const sources = splitsIn(input.generations).flatMap((split) => {
    const name = shardsChannel(split, input.declared ?? []);
    return sourcesOf(ofSplit(input, split), name).map((source, process) => ({
      ...source,
      name: pipeChannel(name, process),
    }));
  });
  return {
    channels: [
      ...sources.map((source) =>
        channel(source.name, input, {
          type: source.type,
          uri: source.uri,
          distribution: input.distribution,
          groups: input.groups,
        }),
      ),
      channel(CHANNEL.source, { inputMode: 'File' }, replicated(input.sourceUri, input.groups)),
      channel(
        CHANNEL.agent,
        { inputMode: 'File' },
        replicated(s3Uri(input.bucket, input.agentPrefix), input.groups),
      ),
    ],
    objects: sources.flatMap(({ objects }) => objects),
  };
}

const splitOf = ({ split }: GenerationShards): SplitName => split ?? CHANNEL.shards;

/** Data may come by declared channels or lie in the source: then there are no shards. */
const splitsIn = (generations: readonly GenerationShards[]): readonly SplitName[] =>
  SPLITS.filter((split) => generations.some((one) => splitOf(one) === split));

const ofSplit = <Input extends Pick<ChannelsInput, 'generations'>>(
  input: Input,
  split: SplitName,
): Input => ({
  ...input,
  generations: input.generations.filter((one) => splitOf(one) === split),
});

const sourcesOf = (input: ChannelsInput, name: string): readonly ShardSource[] =>
  readersOf(input) > 1 ? pipeSources(input, name) : [shardsSource(input, name)];

const readersOf = ({
  inputMode,
  processesPerHost = 1,
}: Pick<ChannelsInput, 'inputMode' | 'processesPerHost'>) => (inputMode === 'Pipe' ? processesPerHost : 1);

interface Source {
  readonly type: 'S3Prefix' | 'ManifestFile';
  readonly uri: string;
  readonly distribution: 'FullyReplicated' | 'ShardedByS3Key';
  readonly groups: readonly string[] | undefined;
}

const replicated = (uri: string, groups: readonly string[] | undefined): Source => ({
  type: 'S3Prefix',
  uri,
  distribution: 'FullyReplicated',
  groups,
});

function channel(
  name: string,
  { inputMode, shuffleSeed }: Pick<ChannelsInput, 'inputMode' | 'shuffleSeed'>,
  source: Source,
): ChannelRequest {
  return {
    ChannelName: name,
    InputMode: inputMode,
    ...(inputMode === 'Pipe' && shuffleSeed !== undefined ? { ShuffleConfig: { Seed: shuffleSeed } } : {}),
    DataSource: {
      S3DataSource: {
        S3DataType: source.type,
        S3Uri: source.uri,
        S3DataDistributionType: source.distribution,
        ...(source.groups === undefined ? {} : { InstanceGroupNames: [...source.groups] }),
      },
    },
  };
}

/**
 * One generation is a prefix. Several generations are a ManifestFile in one channel, because a job has at most 20
 * channels and a dataset has no such limit. The script finds all shards under SM_CHANNEL_TRAIN either way. The common
 * prefix of the generations would include a generation that is sealed while the job waits for capacity.
 */
function shardsSource(input: ChannelsInput, name: string): ShardSource {
  const [only, ...others] = input.generations;
  if (only !== undefined && others.length === 0) {
    return { type: 'S3Prefix', uri: s3Uri(input.bucket, only.shardsPrefix), objects: [] };
  }
  const key = bucketKeys.channelManifest(input.pipeline, input.runId, name);
  return manifestOf(input, key, [...shardKeys(input), ...indexKeys(input)]);
}

type ShardSource = Pick<Source, 'type' | 'uri'> & { readonly objects: readonly PreparedObject[] };

/**
 * Divides the shards among the processes of a host, so that a host reads each shard once. With ShardedByS3Key SageMaker
 * also divides each list among the hosts. With FullyReplicated the script takes its host's part of each list.
 */
function pipeSources(input: ChannelsInput, name: string): readonly ShardSource[] {
  const readers = readersOf(input);
  const keys = shardKeys(input);
  return Array.from({ length: readers }, (_, process) => {
    const key = `${bucketKeys.channelManifest(input.pipeline, input.runId, name)}-${process}`;
    return manifestOf(
      input,
      key,
      keys.filter((_key, index) => index % readers === process),
    );
  });
}

/** Relative to the dataset's folder. */
const shardKeys = ({ generations, pipeline }: ChannelsInput): readonly string[] =>
  generations.flatMap(({ shardsPrefix, shards }) =>
    shards.map((shard) => keyInDataset(pipeline, `${shardsPrefix}${shard}`)),
  );

/**
 * None unless each generation has one. A script that looks for indexes would pass the others by, and train on a part of
 * the data without an error.
 */
function indexKeys({ generations, pipeline }: ChannelsInput): readonly string[] {
  if (generations.some(({ indexes = [] }) => indexes.length === 0)) return [];
  return generations.flatMap(({ shardsPrefix, indexes = [] }) =>
    indexes.map((name) => keyInDataset(pipeline, `${shardsPrefix}${name}`)),
  );
}

const keyInDataset = (pipeline: string, key: string): string =>
  key.slice(bucketKeys.dataset(pipeline).length);

function manifestOf(input: ChannelsInput, key: string, shards: readonly string[]): ShardSource {
  const prefix = s3Uri(input.bucket, bucketKeys.dataset(input.pipeline));
  const text = JSON.stringify([{ prefix }, ...shards]);
  return { type: 'ManifestFile', uri: s3Uri(input.bucket, key), objects: [{ key, text }] };
}

/** The list names the one object: a prefix would also take others whose keys begin like its own. */
export function modelChannel(
  name: typeof MODEL_CHANNEL | typeof CURRENT_CHANNEL,
  model: { readonly uri: string } | undefined,
  {
    bucket,
    runId,
    declaration,
  }: {
    readonly bucket: string;
    readonly runId: string;
    readonly declaration: Pick<Pipeline, 'name'>;
  },
  groups: readonly string[] | undefined,
): Channels {
  if (model === undefined) return { channels: [], objects: [] };
  const end = model.uri.lastIndexOf('/') + 1;
  const key = bucketKeys.channelManifest(declaration.name, runId, name);
  const text = JSON.stringify([{ prefix: model.uri.slice(0, end) }, model.uri.slice(end)]);
  const source = { ...replicated(s3Uri(bucket, key), groups), type: 'ManifestFile' } as const;
  return { channels: [channel(name, { inputMode: 'File' }, source)], objects: [{ key, text }] };
}

type SplitInput = Pick<ChannelsInput, 'generations' | 'pipeline' | 'inputMode' | 'processesPerHost'>;

/** Why the generations cannot be channels, as messages. */
export function generationProblems(input: SplitInput): string[] {
  const splits = splitsIn(input.generations);
  const problems = splits.flatMap((split) => splitProblems(ofSplit(input, split)));
  if (splits.length > 0 && !splits.includes(CHANNEL.shards))
    problems.push(
      `packing.split gave every sample to ${splits.join(' and ')}, and none to train: drop more data, or a larger part of the groups`,
    );
  const pipes = readersOf(input) * splits.length;
  if (readersOf(input) > 1 && pipes > MOST_PIPES)
    problems.push(
      `Pipe needs ${pipes} channels, one of each split for each process of a host, and a job has ${MOST_PIPES}: use FastFile or File`,
    );
  return [...new Set(problems)];
}

function splitProblems({ generations, pipeline, ...input }: SplitInput): string[] {
  const { inputMode } = input;
  const foreign = generations.filter(
    ({ shardsPrefix }) => !shardsPrefix.startsWith(bucketKeys.dataset(pipeline)),
  );
  const problems = foreign.map(
    ({ shardsPrefix }) =>
      `"${shardsPrefix}" is not in the dataset of "${pipeline}": pin a version of this dataset`,
  );
  const readers = readersOf(input);
  if (generations.length === 1 && readers === 1) return problems;
  const empty = generations.filter(({ shards }) => shards.length === 0);
  problems.push(
    ...empty.map(
      ({ shardsPrefix }) => `"${shardsPrefix}" holds no shards: pin a version of the dataset without it`,
    ),
  );
  if (empty.length === 0) problems.push(...pipeProblems(readers, generations));
  if (inputMode === 'FastFile' && generations.length > 1)
    problems.push('FastFile reads a single prefix: use File for a run over several generations');
  return problems;
}

/** A job has at most 20 channels. Source and agent use two. */
const MOST_PIPES = 18;

function pipeProblems(readers: number, generations: readonly GenerationShards[]): string[] {
  const shards = generations.reduce((sum, { shards: listed }) => sum + listed.length, 0);
  const problems: string[] = [];
  if (readers > 1 && shards < readers)
    problems.push(
      `${shards} shards cannot be divided among the Pipes of ${readers} processes: pack smaller shards (packing.shardMegabytes), or use File`,
    );
  return problems;
}

// The channels that the declaration adds to the shards: S3 prefixes, FSx for Lustre and EFS.

/**
 * @param groups all instance groups if the job has several, because every channel must name them
 * @param lists URIs of lists of files by channel; a channel without one reads its whole prefix
 */
export const declaredChannels = (
  declaration: Pipeline,
  groups: readonly string[] | undefined,
  bucket: string,
  lists?: ReadonlyMap<string, string>,
): ChannelRequest[] =>
  Object.entries(channelsOf(declaration)).flatMap(([name, channel]) => {
    const list = lists?.get(name);
    // SageMaker refuses a channel without objects.
    if ('split' in channel && list === undefined) return [];
    const { name: pipeline, packing, training } = declaration;
    const s3 = 's3' in channel && { s3: prefixUri(channel.s3, { bucket, name: pipeline }) };
    const distribution = isUnpacked(packing) && list ? training.distribution : 'FullyReplicated';
    return [channelRequest(name, { ...channel, ...s3 }, { groups, list, distribution })];
  });

function channelRequest(
  ChannelName: string,
  channel: ScriptChannel,
  {
    groups,
    list,
    distribution,
  }: Pick<Source, 'groups' | 'distribution'> & { readonly list: string | undefined },
): ChannelRequest {
  if ('s3' in channel) {
    const S3DataSource = {
      S3DataType: list === undefined ? 'S3Prefix' : 'ManifestFile',
      S3Uri: list ?? channel.s3,
      S3DataDistributionType: distribution,
      ...(groups === undefined ? {} : { InstanceGroupNames: [...groups] }),
    } as const;
    return { ChannelName, InputMode: channel.inputMode, DataSource: { S3DataSource } };
  }
  const [FileSystemType, FileSystemId] =
    'efs' in channel ? (['EFS', channel.efs] as const) : (['FSxLustre', channel.fsxLustre] as const);
  const FileSystemDataSource = {
    FileSystemId,
    FileSystemType,
    FileSystemAccessMode: channel.access,
    DirectoryPath: channel.directory,
  };
  // A mounted file system needs File: https://docs.aws.amazon.com/sagemaker/latest/dg/model-access-training-data-fsx.html
  return { ChannelName, InputMode: 'File', DataSource: { FileSystemDataSource } };
}

/** Problems of declared channels that no job can serve. */
export function declaredChannelProblems(
  { training, compute }: Pipeline,
  {
    isOtherRegion = false,
    whyNoFileSystems,
  }: { readonly isOtherRegion?: boolean; readonly whyNoFileSystems?: string | undefined } = {},
): Problem[] {
  if (isOtherRegion && training.channels !== undefined) {
    const message =
      "are in the data bucket's region, and the placement is in another: remove compute.regions";
    return [{ path: 'training.channels', message }];
  }
  return Object.entries(training.channels ?? {}).flatMap(([name, channel]) => {
    const path = `training.channels.${name}`;
    if ('s3' in channel) return [];
    if (whyNoFileSystems !== undefined) return [{ path, message: whyNoFileSystems }];
    const problems: Problem[] = [];
    if (compute.vpc === undefined) {
      problems.push({ path, message: 'a file system needs a VPC: declare compute.vpc' });
    }
    // A file system's data source cannot name instance groups, but every channel of a job with groups must.
    if (compute.helpers !== undefined) {
      problems.push({
        path,
        message:
          'SageMaker cannot route a file system to instance groups: remove compute.helpers or this channel',
      });
    }
    return problems;
  });
}
