/** Input channels in File mode: which object goes to which host, and the download. */
import { constants, copyFile, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { S3Client } from '@aws-sdk/client-s3';
import type { Channel, CreateTrainingJobRequest } from '@aws-sdk/client-sagemaker';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { eachLimited } from '@tidewheel/kit/limited.ts';
import { JobFailure, transferFailure } from '../model/refusals.ts';
import { type Host, hostChannelsOf } from './container.ts';
import {
  downloadObject,
  listObjects,
  openObject,
  parseS3Uri,
  relativeKey,
  type S3Location,
  segmentsOf,
} from './objects.ts';

/** An object and where it goes, relative to the channel's folder. */
export interface ChannelFile {
  readonly key: string;
  readonly path: string;
}

const CONCURRENT_DOWNLOADS = 16;

/**
 * Who of the hosts gets the object at this place of the listing: everybody, or one with ShardedByS3Key. Each of n hosts
 * gets about 1/n of the objects, surplus hosts none; which host gets which object SageMaker does not say.
 */
export const receivers = <Receiver>(
  hosts: readonly Receiver[],
  position: number,
  distribution: 'FullyReplicated' | 'ShardedByS3Key' | undefined,
): readonly Receiver[] =>
  distribution === 'ShardedByS3Key' ? hosts.filter((_, index) => index === position % hosts.length) : hosts;

/** Where the objects of a prefix go; throws a JobFailure for a key that cannot be a file. Folder markers are left out. */
export function planFiles(
  keys: readonly string[],
  prefix: string,
  channelName: string,
): readonly ChannelFile[] {
  return keys
    .filter((key) => !key.endsWith('/'))
    .map((key) => {
      const relative = key === prefix ? key.slice(key.lastIndexOf('/') + 1) : relativeKey(key, prefix);
      const place = segmentsOf(relative);
      if (place.ok) return { key, path: place.segments.join('/') };
      throw new JobFailure(
        'ClientError',
        `Data download failed: object key ${JSON.stringify(key)} of channel '${channelName}' cannot be a file: ${place.reason}. Rename the object.`,
      );
    });
}

const badManifest = (why: string, cause?: unknown): JobFailure =>
  new JobFailure('ClientError', `Data download failed: the manifest file ${why}`, cause);

/** Keys that a manifest names: `[{"prefix": "s3://bucket/x/"}, "a", "b"]`. */
export function keysOfManifest(text: string): {
  readonly bucket: string;
  readonly prefix: string;
  readonly keys: readonly string[];
} {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw badManifest(`is no JSON: ${messageOf(error)}`, error);
  }
  if (!Array.isArray(parsed)) throw badManifest('must be a JSON list');
  const items: unknown[] = parsed;
  const [head, ...rest] = items;
  if (typeof head !== 'object' || head === null || !('prefix' in head) || typeof head.prefix !== 'string') {
    throw badManifest('must begin with {"prefix": "s3://bucket/..."}');
  }
  const names = rest.filter((name) => typeof name === 'string');
  if (names.length !== rest.length || names.length === 0)
    throw badManifest('must name its objects as strings, at least one');
  const { bucket, key: prefix } = parseS3Uri(head.prefix);
  return { bucket, prefix, keys: names.map((name) => `${prefix}${name}`) };
}

export interface ChannelListing {
  readonly bucket: string;
  readonly files: readonly ChannelFile[];
}

export async function listChannel(
  s3: S3Client,
  channel: Channel,
  signal?: AbortSignal,
): Promise<ChannelListing> {
  const source = channel.DataSource?.S3DataSource;
  const location = parseS3Uri(source?.S3Uri ?? '');
  const name = channel.ChannelName ?? '';
  if (source?.S3DataType === 'ManifestFile') {
    const manifest = keysOfManifest(await readText(s3, location, signal));
    return { bucket: manifest.bucket, files: planFiles(manifest.keys, manifest.prefix, name) };
  }
  const objects = await listObjects(s3, location, signal);
  if (objects.length === 0) {
    throw new JobFailure(
      'ClientError',
      `Data download failed: No S3 objects found under S3 URL "${source?.S3Uri ?? ''}"`,
    );
  }
  return {
    bucket: location.bucket,
    files: planFiles(
      objects.map((object) => object.key),
      location.key,
      name,
    ),
  };
}

async function readText(s3: S3Client, location: S3Location, signal?: AbortSignal): Promise<string> {
  const body = await openObject(s3, location, signal);
  const chunks = await body.toArray();
  return Buffer.concat(chunks).toString('utf8');
}

export interface ChannelContext {
  readonly s3: S3Client;
  readonly request: CreateTrainingJobRequest;
  readonly hosts: readonly Host[];
  readonly signal: AbortSignal;
}

export const channelDirectory = (host: Host, channel: Channel): string =>
  join(host.base, 'input', 'data', channel.ChannelName ?? '');

export const modeOf = (request: CreateTrainingJobRequest, channel: Channel): string =>
  channel.InputMode ?? request.AlgorithmSpecification?.TrainingInputMode ?? 'File';

/** Hosts that a channel goes to, in order. */
export const channelHosts = (
  { request, hosts }: Pick<ChannelContext, 'request' | 'hosts'>,
  channel: Channel,
): readonly Host[] => hosts.filter((host) => hostChannelsOf(request, host).includes(channel));

/** Puts every channel of File and FastFile mode in place; FastFile's streamed files are here plain files. */
export async function fillChannels(context: ChannelContext): Promise<void> {
  for (const channel of context.request.InputDataConfig ?? []) {
    if (modeOf(context.request, channel) === 'Pipe') continue;
    try {
      await fillChannel(context, channel);
    } catch (error) {
      throw context.signal.aborted ? error : transferFailure('Data download failed', error);
    }
  }
}

async function fillChannel(context: ChannelContext, channel: Channel): Promise<void> {
  const hosts = channelHosts(context, channel);
  for (const host of hosts) await mkdir(channelDirectory(host, channel), { recursive: true });
  const { bucket, files } = await listChannel(context.s3, channel, context.signal);
  const distribution = channel.DataSource?.S3DataSource?.S3DataDistributionType;
  const tasks = files.map((file, position) => ({ file, hosts: receivers(hosts, position, distribution) }));
  await eachLimited(tasks, CONCURRENT_DOWNLOADS, async ({ file, hosts: [first, ...others] }) => {
    if (!first) return;
    const target = join(channelDirectory(first, channel), file.path);
    await downloadObject(context.s3, { bucket, key: file.key }, target, context.signal);
    for (const host of others) {
      const copy = join(channelDirectory(host, channel), file.path);
      await mkdir(dirname(copy), { recursive: true });
      // A copy, not a link: what one host does to its file is no other's business.
      await copyFile(target, copy, constants.COPYFILE_FICLONE);
    }
  });
}
