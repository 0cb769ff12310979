/** Whether and how the files of a drop are bundled: as their pipeline declares. */
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { MOST_MEMBER_BYTES } from '../../functions/core/packing/arrivals/bundle-place.ts';
import { readStored } from '../../functions/core/pipeline/declaration.ts';
import type { Pipeline } from '../../functions/core/pipeline/pipeline.ts';
import { prefixUri } from '../../functions/core/pipeline/prefix.ts';
import { bucketKeys, s3Uri } from '../../functions/core/shared/keys.ts';
import type { Context } from '../command/context.ts';
import { countText } from '../command/format.ts';
import { storedDeclaration } from './apply.ts';
import { BUNDLE_BYTES, type Grouping } from './bundle-groups.ts';
import type { LocalFile } from './files.ts';

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
    apart: [pipeline?.settle.marker, pipeline?.packing.annotations?.file],
    shuffle: pipeline?.packing.shuffle !== false,
  };
}

function channelOfIncoming(pipeline: Pipeline, bucket: string): string | undefined {
  const incoming = s3Uri(bucket, bucketKeys.incoming(pipeline.name));
  return Object.entries(pipeline.training.channels ?? {}).find(([, channel]) => {
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
