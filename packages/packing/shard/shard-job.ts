/** One shard to be built: its settings, and its samples as they will lie in it. */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import type { PlannedSample } from '../documents/documents.ts';
import type { HeldSamples } from '../documents/held-samples.ts';
import type { Exclusion, Rejection } from '../documents/rejections.ts';
import { layOutSample, type SampleLayout } from '../documents/sample-layout.ts';
import {
  hasFixedLayout,
  largestSampleOf,
  type ShardFormat,
  type SourceSchema,
} from '../documents/shard-format.ts';
import { type ExcludedSample, excludeAll } from './check-sample.ts';
import type { WindowLimits } from './fetch-window.ts';
import type { MemberList } from './member-list.ts';
import type { ReadBuffers } from './read-buffers.ts';
import { checkPrepared, type PreparedImages } from './shard-images.ts';
import type { PartBuffers, UploadedShard } from './shard-upload.ts';

export interface PackDeps {
  readonly store: BlobStore;
  readonly buffers: PartBuffers;
  readonly window: WindowLimits;
  readonly readBuffers: ReadBuffers;
}

export interface ShardJob {
  /** Key of the new shard. */
  readonly key: string;
  readonly shard: number;
  readonly incoming: string;
  readonly packing: PackingSettings;
  readonly format: ShardFormat;
  readonly sourceSchema: SourceSchema;
  /** Every build of the shard goes through them once. */
  readonly samples: Iterable<PlannedSample>;
  /** The shard holds this number of samples, or none: copies of its other samples replace the excluded ones. */
  readonly even?: number | undefined;
  /** Samples that are left out if their bytes are those that the dataset holds. */
  readonly held?: HeldSamples | undefined;
  /** Only if images are prepared. */
  readonly preparations?: PreparedImages | undefined;
}

export interface BuiltShard extends UploadedShard {
  readonly list: MemberList;
  readonly samples: number;
  readonly exclusions: readonly Exclusion[];
}

/** @param exclude called for a sample that the format cannot hold, when the sequence comes to it */
export function* layOutSamples(
  samples: Iterable<PlannedSample>,
  { incoming, format, packing: settings, sourceSchema, preparations }: ShardJob,
  exclude: (one: ExcludedSample) => void,
): Generator<SampleLayout> {
  const rules = { incoming, format, settings };
  for (const sample of samples) {
    const planned = layOutSample(sample, rules);
    const checked =
      preparations === undefined
        ? { layout: planned }
        : checkPrepared(planned, (member) => preparations.outcomeOf(member));
    if ('exclusion' in checked) {
      exclude({ sample, exclusion: checked.exclusion });
      continue;
    }
    const { layout } = checked;
    const refusal = isTooLarge(layout, format) ? 'tooLarge' : refusalOf(layout, format, sourceSchema);
    if (refusal === undefined) yield layout;
    else exclude({ sample, exclusion: excludeAll(sample, refusal) });
  }
}

export function* samplesWithout(
  samples: Iterable<PlannedSample>,
  without: (sample: PlannedSample) => boolean,
): Generator<PlannedSample> {
  for (const sample of samples) if (!without(sample)) yield sample;
}

/**
 * All samples at once, for a shard whose beginning depends on all of them; undefined for any other shard. There each
 * sample is laid out when it is read, because 25,000 samples at once take some 20 MB.
 */
export function layOutFirst(
  job: ShardJob,
  without: (sample: PlannedSample) => boolean,
  exclude: (one: ExcludedSample) => void,
): SampleLayout[] | undefined {
  const { format, even, preparations, samples } = job;
  if (!hasFixedLayout(format) && even === undefined && preparations === undefined) return undefined;
  const taken = [...layOutSamples(samplesWithout(samples, without), job, exclude)];
  return [...taken, ...layOutSamples(missingCopies(taken, job), job, exclude)];
}

/** Numbers of copies made here are far above those of the plan, and no two shards share one. */
const COPIES_OF_SHARD = 1_000_000;

/** Copies of the samples, in turn, up to the count that the shard must have. */
function missingCopies(
  taken: readonly SampleLayout[],
  { shard, even = 0 }: Pick<ShardJob, 'shard' | 'even'>,
): PlannedSample[] {
  const missing = taken.length === 0 ? 0 : Math.max(0, even - taken.length);
  const copies: PlannedSample[] = [];
  for (let index = 0; index < missing; index += 1) {
    const source = taken[index % taken.length];
    if (source !== undefined)
      copies.push({ ...source.sample, repeat: (shard + 1) * COPIES_OF_SHARD + index });
  }
  return copies;
}

export const isTooLarge = (
  { members }: { readonly members: readonly { readonly size: number }[] },
  format: ShardFormat,
): boolean => members.reduce((sum, { size }) => sum + size, 0) > largestSampleOf(format);

const refusalOf = (
  layout: SampleLayout,
  format: ShardFormat,
  sourceSchema: SourceSchema,
): Rejection | undefined => (format.takes === 'samples' ? format.refuses?.(layout, sourceSchema) : undefined);
