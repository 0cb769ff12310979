/**
 * What a shard format knows: how a shard is written, and, part by part, what else can be done with it. A part that is
 * absent is something that the format does not need. formats/formats.ts lists the formats.
 */
import type { PackingSettings } from '../../pipeline/pipeline.ts';
import type { Manifest, MemberLine } from './documents.ts';
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

/** An encoder throws it when a sample does not fit the format. */
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
  /** First line of the sources, newline included, where they share one. */
  readonly csvHeader?: string | undefined;
}

export interface ShardEncoder {
  start?(sink: ShardSink): Promise<void>;
  /** Members come in the order of `layOut`; their bodies must be read in that order, each to its end. No promise where nothing has to wait. */
  add(
    sink: ShardSink,
    outline: Outline,
    members: readonly EncodedMember[],
  ): readonly Placed[] | Promise<readonly Placed[]>;
  finish?(sink: ShardSink): Promise<void>;
}

/** The lines of one sample in a member list, which follow each other. */
export type SampleLines = readonly MemberLine[];

/** Where samples lie in a sealed shard: first byte of each and, last, the end of the last one. */
export type Extents = readonly number[];

/** What two generations must have in common to be joined. */
export type Shape = Manifest['shape'];

/** Samples of sealed shards are copied into a new one as they lie. How they are found there depends on the format. */
export type Join =
  /** The member list tells. `head` goes before the first sample. */
  | {
      readonly by: 'memberList';
      extents(samples: readonly SampleLines[], shardBytes: number): Extents;
      head?(shape: Shape): Uint8Array;
    }
  /** A table at the shard's head tells; the new shard gets one of its own. */
  | {
      readonly by: 'table';
      tableBytes(samples: number): number;
      extents(table: Buffer): Extents;
      /** @param sizes bytes of the new shard's samples, in order */
      head(sizes: readonly number[], settings: PackingSettings, shape: Shape): Uint8Array;
    }
  /** Each sample begins with a head of fixed size, which tells how many bytes follow it. */
  | {
      readonly by: 'frames';
      readonly headBytes: number;
      bytesAfter(head: Buffer): number;
    };

/**
 * Bytes around each member that follow from its name and size alone, so that a verification computes them. A name must
 * not occur twice in a shard: a joined shard gets these bytes anew for a member that is renamed.
 */
export interface MemberFrames {
  before(name: string, size: number): Uint8Array;
  after(size: number): Uint8Array;
  /** After the last member. */
  readonly end: Uint8Array;
}

/** Makes the index of one shard from its member list, line by line. */
export interface ShardIndex {
  add(line: MemberLine): void;
  /** After the last line. */
  body(): Uint8Array;
}

/** What an index over all shards of a generation follows from. */
export interface IndexedShards {
  readonly generation: string;
  readonly settings: { readonly labelType?: string | undefined; readonly shardMegabytes: number };
  readonly facts: PlanFacts;
  /** Folder of the shards, relative to the generation's. */
  readonly folder: string;
  readonly shards: Manifest['shards'];
}

/** A file beside the shards over all of them. */
export interface DatasetIndex {
  /** In the generation's folder. */
  readonly name: string;
  body(indexed: IndexedShards): Uint8Array;
  /** Whether a stored one says what was expected; without it, byte for byte. */
  readonly isSame?: (stored: Buffer, expected: Buffer) => boolean;
}

interface AnyFormat {
  /** File name suffix of shards, without the dot. */
  readonly suffix: (settings: PackingSettings) => string;
  /** Shards are one gzip member each; offsets are those of the plain bytes. */
  readonly isGzipped?: (settings: PackingSettings) => boolean;
  /** Bytes that a member of this name and size takes. */
  plannedBytes(name: string, size: number): number;
  encoder(context: ShardContext): ShardEncoder;
  shape(settings: PackingSettings, facts: PlanFacts): Shape;
  readonly join: Join;
  readonly memberFrames?: MemberFrames;
  readonly shardIndex?: () => ShardIndex;
  readonly datasetIndex?: DatasetIndex;
}

/** Keys of one stem form a sample, which may get a label. */
export interface SampleFormat extends AnyFormat {
  readonly takes: 'samples';
  /** Members are ordered by suffix (tar) or by column. */
  readonly order: 'suffix' | 'column';
  /** The layout is written before the first sample: if one drops out, the shard is built again. */
  readonly fixedLayout?: true;
  /** In bytes; larger samples cannot be written. */
  readonly largestSample?: number;
  /** Why a sample of this outline cannot be in a shard, before anything of it is read. */
  refuses?(outline: Outline, facts: PlanFacts): Rejection | undefined;
}

/** Every object is taken whole, of any size. */
export interface FileFormat extends AnyFormat {
  readonly takes: 'files';
  /** The first line of the first source, where all must begin with the same. */
  readonly header?: {
    isShared(settings: PackingSettings): boolean;
    /** @param head the first bytes of a source, all of it or `HEAD_BYTES` */
    of(head: Uint8Array): string;
  };
  /**
   * Sources lie in the shard as they are, a newline at their end: so the store itself can copy large ones.
   * @param head the first bytes of a source, all of it or `HEAD_BYTES`
   * @returns how many of them are left out
   * @throws Unfit
   */
  readonly copyFrom?: (head: Buffer, facts: PlanFacts) => number;
}

export type ShardFormat = SampleFormat | FileFormat;

/** Enough for the first line of a CSV file. */
export const HEAD_BYTES = 256 * 1024;

export const hasFixedLayout = (format: ShardFormat): boolean =>
  format.takes === 'samples' && format.fixedLayout === true;

export const largestSampleOf = (format: ShardFormat): number =>
  (format.takes === 'samples' ? format.largestSample : undefined) ?? Number.POSITIVE_INFINITY;
