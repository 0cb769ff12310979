/** The channels that the declaration adds to the shards: S3 prefixes, FSx for Lustre and EFS. */

import type { InputChannel, Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { prefixUri } from '@tidewheel/declaration/script.ts';
import type { Problem } from '@tidewheel/kit/errors.ts';
import type { ChannelRequest } from './request.ts';

/**
 * @param groups all instance groups if the job has several, because every channel must name them
 * @param lists URIs of lists of files by channel; a channel without one reads its whole prefix
 */
export const declaredChannels = (
  { name: pipeline, training }: Pipeline,
  groups: readonly string[] | undefined,
  bucket: string,
  lists?: ReadonlyMap<string, string>,
): ChannelRequest[] =>
  Object.entries(training.channels ?? {}).map(([name, channel]) =>
    channelRequest(
      name,
      's3' in channel ? { ...channel, s3: prefixUri(channel.s3, { bucket, name: pipeline }) } : channel,
      groups,
      lists?.get(name),
    ),
  );

function channelRequest(
  ChannelName: string,
  channel: InputChannel,
  groups: readonly string[] | undefined,
  list: string | undefined,
): ChannelRequest {
  if ('s3' in channel) {
    const S3DataSource = {
      S3DataType: list === undefined ? 'S3Prefix' : 'ManifestFile',
      S3Uri: list ?? channel.s3,
      S3DataDistributionType: 'FullyReplicated',
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
