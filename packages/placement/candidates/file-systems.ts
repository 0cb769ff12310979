/** The file systems that a pipeline's channels read: what an hour of them costs, and whose price is not known. */
import { type FileSystem, fileSystemHourlyUsd, priceNoteOf } from '@tidewheel/catalog/prices.ts';
import type { InputChannel, Pipeline } from '@tidewheel/declaration/pipeline.ts';

export interface FileSystems {
  /** Of all whose price is known. */
  readonly hourlyUsd: number;
  /** A sentence for each file system. */
  readonly notes: readonly string[];
}

/** Two channels may read one file system, which is paid for once. */
export function fileSystemsOf({ channels = {} }: Pick<Pipeline['training'], 'channels'>): FileSystems {
  const byId = new Map<string, FileSystem | undefined>();
  for (const channel of Object.values(channels)) {
    if ('s3' in channel) continue;
    const id = 'efs' in channel ? channel.efs : channel.fsxLustre;
    byId.set(id, fileSystemOf(channel) ?? byId.get(id));
  }
  const known = [...byId.values()].filter((each) => each !== undefined);
  return {
    hourlyUsd: known.reduce((sum, each) => sum + fileSystemHourlyUsd(each), 0),
    notes: [...byId].map(([id, each]) => noteOn(id, each)),
  };
}

function fileSystemOf(channel: Exclude<InputChannel, { readonly s3: string }>): FileSystem | undefined {
  const { storageGigabytes, usdPerGigabyteMonth } = channel;
  if (storageGigabytes === undefined) return undefined;
  return { kind: 'efs' in channel ? 'efs' : 'lustre', gigabytes: storageGigabytes, usdPerGigabyteMonth };
}

const noteOn = (id: string, known: FileSystem | undefined): string =>
  known === undefined
    ? `what ${id} costs is not known, so no cost includes it: declare storageGigabytes of its channel`
    : `every cost includes ${id}: ${known.gigabytes.toLocaleString('en-US')} GB, as declared and not read from AWS, for $${fileSystemHourlyUsd(known).toFixed(2)} an hour (${priceNoteOf(known)})`;
