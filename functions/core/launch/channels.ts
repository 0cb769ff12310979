/** The input channels of a training job: the shards, the user's code, the agent. */
import { layout, s3Uri } from '../layout.ts';
import type { ChannelRequest, InputMode } from './request.ts';

/** One generation of the dataset, as a training channel sees it. */
export interface GenerationShards {
  /** `layout.shards(...)`: nothing but shards lies under it. */
  readonly shardsPrefix: string;
  /** Shard names relative to the prefix; needed only when a run trains on several generations. */
  readonly shards?: readonly string[] | undefined;
  /** Number and size of all its shards, for choosing the input mode. */
  readonly totals?: { readonly shards: number; readonly bytes: number } | undefined;
}

export interface ChannelsInput {
  readonly bucket: string;
  readonly pipeline: string;
  readonly runId: string;
  readonly generations: readonly GenerationShards[];
  readonly sourceUri: string;
  readonly agentPrefix: string;
  readonly inputMode: InputMode;
  /** Of the order in which a Pipe hands out the shards. */
  readonly shuffleSeed?: number | undefined;
  readonly distribution: 'FullyReplicated' | 'ShardedByS3Key';
  /** Names of all instance groups when the job has several: then every channel must name its groups. */
  readonly groups?: readonly string[] | undefined;
  /** Groups that read the shards; default: all. */
  readonly dataGroups?: readonly string[] | undefined;
}

/** An object that must lie in the bucket before the job is created. */
export interface PreparedObject {
  readonly key: string;
  readonly text: string;
}

export interface Channels {
  readonly channels: ChannelRequest[];
  readonly objects: readonly PreparedObject[];
}

/** Channel names become folders under /opt/ml/input/data and SM_CHANNEL_* variables. */
export const CHANNEL = { shards: 'train', source: 'code', agent: 'agent' } as const;

export function channelsOf(input: ChannelsInput): Channels {
  const shards = shardsSource(input);
  return {
    channels: [
      channel(CHANNEL.shards, input, {
        ...shards,
        distribution: input.distribution,
        groups: input.dataGroups ?? input.groups,
      }),
      channel(CHANNEL.source, { inputMode: 'File' }, replicated(input.sourceUri, input.groups)),
      channel(
        CHANNEL.agent,
        { inputMode: 'File' },
        replicated(s3Uri(input.bucket, input.agentPrefix), input.groups),
      ),
    ],
    objects: shards.objects,
  };
}

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
 * One generation is a prefix. Several are a ManifestFile in one channel, not a channel each: a job has at most 20
 * channels, a dataset has no such limit, and the script finds all of its shards under SM_CHANNEL_TRAIN either way.
 * The common prefix of the generations would not do: a generation sealed while the job waits for capacity would be in.
 */
function shardsSource(
  input: ChannelsInput,
): Pick<Source, 'type' | 'uri'> & { readonly objects: readonly PreparedObject[] } {
  const [only, ...others] = input.generations;
  if (only !== undefined && others.length === 0) {
    return { type: 'S3Prefix', uri: s3Uri(input.bucket, only.shardsPrefix), objects: [] };
  }
  const dataset = layout.dataset(input.pipeline);
  const keys = input.generations.flatMap(({ shardsPrefix, shards }) =>
    (shards ?? []).map((shard) => `${shardsPrefix}${shard}`.slice(dataset.length)),
  );
  const key = layout.trainManifest(input.pipeline, input.runId);
  const text = JSON.stringify([{ prefix: s3Uri(input.bucket, dataset) }, ...keys]);
  return { type: 'ManifestFile', uri: s3Uri(input.bucket, key), objects: [{ key, text }] };
}

/** What cannot be a channel, as messages. */
export function generationProblems(
  input: Pick<ChannelsInput, 'generations' | 'pipeline' | 'inputMode'>,
): string[] {
  const { generations, pipeline, inputMode } = input;
  if (generations.length === 0) return ['there is no data to train on: drop files under incoming/ first'];
  const foreign = generations.filter(
    ({ shardsPrefix }) => !shardsPrefix.startsWith(layout.dataset(pipeline)),
  );
  const problems = foreign.map(
    ({ shardsPrefix }) => `"${shardsPrefix}" is no part of the dataset of "${pipeline}"`,
  );
  if (generations.length === 1) return problems;
  const unlisted = generations.filter(({ shards }) => shards === undefined || shards.length === 0);
  problems.push(
    ...unlisted.map(
      ({ shardsPrefix }) => `list the shards of "${shardsPrefix}": a run over several generations names each`,
    ),
  );
  if (inputMode === 'FastFile')
    problems.push('FastFile takes one prefix only: use File for a run over several generations');
  return problems;
}
