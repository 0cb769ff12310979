/** What a shard format has to know. One file a format; formats.ts lists them. */
import type { PackingSettings } from '../../pipeline/pipeline.ts';
import type { Rejection } from './rejections.ts';

/** Where the bytes of a shard go. */
export interface ShardSink {
  /** Bytes written so far. */
  readonly position: number;
  /** Fewer bytes than these can be written without waiting. */
  readonly room: number;
  /** The bytes are copied before it returns. A promise only where the next write must wait for room. */
  write(bytes: Uint8Array): Promise<void> | undefined;
  /** The last `length` bytes written, while they still lie together. */
  recent(length: number): Uint8Array | undefined;
}

/** Chunks of a member that is in memory, or pieces of one that is read as it is written. */
export type MemberBody = readonly Uint8Array[] | AsyncIterable<Uint8Array>;

export interface EncodedMember {
  /** Path in a tar, column elsewhere. */
  readonly name: string;
  /** Path or stem of the sample. */
  readonly stem: string;
  readonly column: string;
  readonly size: number;
  readonly isLabel: boolean;
  readonly body: MemberBody;
}

/** Where a member's bytes lie in the shard, and their digest. */
export interface Placed {
  readonly offset: number;
  /** Bytes in the shard, where they are not the source's. */
  readonly size?: number;
  readonly sha256: string;
}

/** Thrown by an encoder on finding out that a sample does not fit the format. */
export class Unfit extends Error {
  override readonly name = 'Unfit';
  readonly reason: Rejection;
  constructor(reason: Rejection) {
    super(`the sample does not fit the format: ${reason}`);
    this.reason = reason;
  }
}

/** A sample as planned: names, columns and sizes, before anything is read. */
export interface Outline {
  readonly ordinal: number;
  readonly members: readonly Omit<EncodedMember, 'body'>[];
}

export interface ShardContext {
  readonly settings: PackingSettings;
  readonly facts: PlanFacts;
  /** The samples that the shard will hold, in order; only for formats of a fixed layout. */
  readonly outlines: readonly Outline[];
}

/** What the whole plan has in common, whatever the shard. */
export interface PlanFacts {
  /** Columns that most samples have, sorted; the others are refused by formats with fixed columns. */
  readonly columns: readonly string[];
  /** First line of the CSV sources, newline included. */
  readonly csvHeader?: string | undefined;
}

export interface ShardEncoder {
  start(sink: ShardSink): Promise<void>;
  /** Members come in the order of `layOut`; their bodies must be read in that order, each to its end. No promise where nothing has to wait. */
  add(
    sink: ShardSink,
    outline: Outline,
    members: readonly EncodedMember[],
  ): readonly Placed[] | Promise<readonly Placed[]>;
  finish(sink: ShardSink): Promise<void>;
}

export interface ShardFormat {
  /** File name suffix of shards, without the dot. */
  readonly suffix: (settings: PackingSettings) => string;
  /** Shards are one gzip member each; offsets are those of the plain bytes. */
  readonly isGzipped?: (settings: PackingSettings) => boolean;
  /** Keys of one stem form a sample; else every object is one. */
  readonly grouped: boolean;
  /** Members are ordered by suffix (tar) or by column. */
  readonly order: 'suffix' | 'column';
  /** The layout is written before the first sample: one that drops out means to begin again. */
  readonly fixedLayout: boolean;
  /** Larger samples cannot be written. */
  readonly largestSample: number;
  /** Bytes that a member of this name and size takes. */
  plannedBytes(name: string, size: number): number;
  /** Why a sample of this outline cannot be in a shard, before anything of it is read. */
  refuses(outline: Outline, context: { settings: PackingSettings; facts: PlanFacts }): Rejection | undefined;
  encoder(context: ShardContext): ShardEncoder;
  /**
   * Sources lie in the shard as they are, a newline at their end: so the store itself can copy large ones.
   * @param head the first bytes of a source, all of it or `COPY_HEAD_BYTES`
   * @returns how many of them are left out
   * @throws Unfit
   */
  copyFrom?(head: Buffer, facts: PlanFacts): number;
}

/** Enough for the first line of a CSV file. */
export const COPY_HEAD_BYTES = 256 * 1024;
