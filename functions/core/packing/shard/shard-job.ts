/** What is asked of the builder of one shard, what it gives, and what makes it begin again. */
import type { PackingSettings } from '../../pipeline/pipeline.ts';
import type { BlobStore } from '../model/blob-store.ts';
import type { PlannedSample } from '../model/documents.ts';
import type { Exclusion } from '../model/rejections.ts';
import type { PlanFacts, ShardFormat } from '../model/shard-format.ts';
import type { WindowLimits } from './fetch-window.ts';
import type { MemberList } from './member-list.ts';
import type { Preparations } from './shard-images.ts';
import type { PartBuffers, UploadedShard } from './shard-upload.ts';
import type { SlotRing } from './slot-ring.ts';

export interface PackDeps {
  readonly store: BlobStore;
  readonly buffers: PartBuffers;
  readonly window: WindowLimits;
  readonly slots: SlotRing;
}

export interface ShardJob {
  /** Key of the shard to be. */
  readonly key: string;
  readonly shard: number;
  readonly incoming: string;
  readonly packing: PackingSettings;
  readonly format: ShardFormat;
  readonly facts: PlanFacts;
  /** Gone through once for every time that the shard is built. */
  readonly samples: Iterable<PlannedSample>;
  /** So many samples, or none: what drops out is made good by copies of the others. */
  readonly even?: number | undefined;
  /** Where images are prepared: what is known of those of this shard. */
  readonly preparations?: Preparations | undefined;
}

export interface BuiltShard extends UploadedShard {
  readonly list: MemberList;
  readonly samples: number;
  readonly exclusions: readonly Exclusion[];
}

/** A sample, or a copy of one, turned out to be unfit. */
export interface Unfitting {
  readonly sample: PlannedSample;
  readonly exclusion: Exclusion;
}

/** That happened after something was written that they are part of: the shard is built again without them. */
export class SamplesSpoiled extends Error {
  override readonly name = 'SamplesSpoiled';
  readonly unfitting: readonly Unfitting[];
  constructor(unfitting: readonly Unfitting[]) {
    super(`${unfitting.length} samples cannot be in the shard`);
    this.unfitting = unfitting;
  }
}

/** Names a sample or a copy of one. */
export const placeOf = ({ ordinal, repeat }: PlannedSample): string => `${ordinal}~${repeat}`;
