/** Whether and how the files of a drop are bundled: as their pipeline declares. */

import { bucketKeys, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import { channelsOf, type Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { readStored } from '@tidewheel/declaration/read.ts';
import { prefixUri } from '@tidewheel/declaration/script.ts';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { inBundleOrder, isAllowed, keysApart, MOST_MEMBER_BYTES } from '@tidewheel/packing/bundles.ts';
import type { Context } from '../command/context.ts';
import { countText } from '../command/format.ts';
import { storedDeclaration } from './apply.ts';
import type { LocalFile } from './local-files.ts';

interface Asked {
  readonly pipeline: string;
  readonly bucket: string;
}

/** @throws UsageError where the training reads the files as they lie in the bucket */
export async function groupingOf(context: Context, { pipeline: name, bucket }: Asked): Promise<Grouping> {
  const text = (await storedDeclaration(await context.api(), name))?.declaration;
  const read = text === undefined ? undefined : readStored(name, text);
  const pipeline = read?.valid === true ? read.pipeline : undefined;
  const channel = pipeline && channelOfIncoming(pipeline, bucket);
  if (channel !== undefined)
    throw new UsageError([
      `the channel ${channel} of ${name} reads incoming/ as it lies, where a bundle is one object: leave out --bundle`,
    ]);
  return {
    prefix: bucketKeys.incoming(name),
    apart: pipeline === undefined ? [] : [pipeline.settle.marker, ...keysApart(pipeline.packing)],
    shuffle: pipeline?.packing.shuffle !== false,
  };
}

function channelOfIncoming(pipeline: Pipeline, bucket: string): string | undefined {
  const incoming = s3Uri(bucket, bucketKeys.incoming(pipeline.name));
  return Object.entries(channelsOf(pipeline)).find(([, channel]) => {
    if (!('s3' in channel)) return false;
    const prefix = prefixUri(channel.s3, { name: pipeline.name, bucket });
    return prefix.startsWith(incoming) || incoming.startsWith(prefix);
  })?.[0];
}

/** Below so many, requests cost less than a cent or two. */
const MANY_FILES = 10_000;

/** A line where bundles would save most requests. */
export function suggestion(files: readonly LocalFile[]): string[] {
  const small = files.filter(({ size }) => size <= MOST_MEMBER_BYTES);
  if (small.length < MANY_FILES) return [];
  const bytes = small.reduce((sum, { size }) => sum + size, 0);
  const requests = 2 * Math.max(1, Math.ceil(bytes / BUNDLE_BYTES));
  return [
    `${countText(small.length)} of the files are small. With --bundle, some ${countText(requests)} requests send them instead of one each.`,
  ];
}

/** One PUT sends so much, and it lies in memory meanwhile. */
const BUNDLE_BYTES = 64 * 1024 * 1024;
/** A million empty files must not become one index. */
const BUNDLE_FILES = 100_000;

interface Grouping {
  /** `<pipeline>/incoming/` */
  readonly prefix: string;
  /** Names that the service looks for as objects of their own: the marker, annotations, lists of a split. */
  readonly apart: readonly (string | undefined)[];
  /** Shards are filled at random, so bundles are too: a request then reads what lies beside each other in a shard. */
  readonly shuffle: boolean;
  readonly bundleBytes?: number;
}

export interface Groups {
  readonly bundles: readonly (readonly LocalFile[])[];
  /** Large files, and those that no bundle may hold. */
  readonly plain: readonly LocalFile[];
}

/** It follows from the whole folder, so a drop that is resumed makes the same bundles. */
export function groupFiles(files: readonly LocalFile[], grouping: Grouping): Groups {
  const prefixBytes = Buffer.byteLength(grouping.prefix);
  const small: LocalFile[] = [];
  const plain: LocalFile[] = [];
  for (const file of files) {
    const isSmall = file.size <= MOST_MEMBER_BYTES && isAllowed(file.name, prefixBytes);
    (isSmall && !grouping.apart.includes(file.name) ? small : plain).push(file);
  }
  const bundles: LocalFile[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const file of inBundleOrder(small, ({ name }) => name, grouping.shuffle)) {
    if (bytes + file.size > (grouping.bundleBytes ?? BUNDLE_BYTES) || isFull(bundles.at(-1))) {
      bundles.push([]);
      bytes = 0;
    }
    bundles.at(-1)?.push(file);
    bytes += file.size;
  }
  return { bundles, plain };
}

const isFull = (bundle: readonly LocalFile[] | undefined): boolean => (bundle?.length ?? 0) >= BUNDLE_FILES;
