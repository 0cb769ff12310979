/**
 * The interface of a shard format: how its shards are written, and the parts by which they are joined, indexed and
 * verified. A format omits the parts that it does not need. formats/formats.ts lists the formats.
 */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import type { KeptSums } from './blob-store.ts';
import type { MediaFacts, MemberLine } from './documents.ts';
import type { Manifest } from './manifest.ts';
import type { Rejection } from './rejections.ts';

/** Where the bytes of a shard go. */
export interface ShardSink {
  /** Bytes written so far. */
  readonly position: number;
  /** A write of fewer bytes does not have to wait. */
  readonly room: number;
  /** Copies the bytes before it returns. Returns a promise only if the next write must wait for room. */
  write(bytes: Uint8Array): Promise<void> | undefined;
  /** The last `length` bytes written; undefined if they no longer lie together. */
  recent(length: number): Uint8Array | undefined;
}

/** What is known of a member that the store copied, or the digest of one that had to be read. */
export interface StoredSums extends KeptSums {
  /** Empty for a copied one, because its bytes were not read. */
  readonly sha256: string;
}

/** A large member that the store copies. Only a format that says `copiesMembers` gets one. */
export interface StoredBody {
  /** The first bytes, once the member was appended. */
  readonly head: Uint8Array;
  /** Of a text all of which had to be read. */
  readonly facts: MediaFacts | undefined;
  /** Appends all bytes to the shard. */
  append(): Promise<StoredSums>;
}

/** Chunks of a member in memory, or pieces of one that is read while it is written. */
export type MemberBody = readonly Uint8Array[] | AsyncIterable<Uint8Array>;

export interface EncodedMember {
  /** Path in the shard, for formats with paths. */
  readonly name: string;
  /** The name up to the suffix, which all members of the sample share. */
  readonly stem: string;
  readonly column: string;
  readonly size: number;
  readonly isLabel: boolean;
  readonly body: MemberBody;
  /** Takes the place of the body. */
  readonly stored?: StoredBody;
}

/** Where a member's bytes lie in the shard, and their digest. */
export interface WrittenMember extends KeptSums {
  readonly offset: number;
  /** Bytes in the shard, if they differ from the source's. */
  readonly size?: number;
  /** Empty for a member that the store copied: that has sums. */
  readonly sha256: string;
}

type TextFault = 'notText' | 'notJson';

/** An encoder throws it if a sample does not fit the format. */
export class UnfitSampleError extends Error {
  override readonly name = 'UnfitSampleError';
  readonly reason: Rejection;
  constructor(reason: Rejection) {
    super(`the sample does not fit the format: ${reason}`);
    this.reason = reason;
  }
}

/** The names, columns and sizes of a sample, before anything is read. */
export interface Outline {
  readonly ordinal: number;
  readonly members: readonly Omit<EncodedMember, 'body' | 'stored'>[];
}

export interface ShardContext {
  readonly settings: PackingSettings;
  readonly sourceSchema: SourceSchema;
  /** The shard's samples in order; only for a format of a fixed layout. */
  readonly outlines: readonly Outline[];
}

/** What all shards of a plan have in common. */
export interface SourceSchema {
  /** Columns of at least half of the samples, sorted. A format with fixed columns rejects samples with others. */
  readonly columns: readonly string[];
  /** The first line of all sources with its newline, if they share one. */
  readonly csvHeader?: string | undefined;
}

export interface ShardEncoder {
  start?(sink: ShardSink): Promise<void>;
  /** Must read the members' bodies in their order, each to its end. Returns a promise only if something has to wait. */
  add(
    sink: ShardSink,
    outline: Outline,
    members: readonly EncodedMember[],
  ): readonly WrittenMember[] | Promise<readonly WrittenMember[]>;
  finish?(sink: ShardSink): Promise<void>;
}

/** The lines of one sample in a member list, which follow each other. */
export type SampleLines = readonly MemberLine[];

/** Where samples lie in a sealed shard: first byte of each and, last, the end of the last one. */
export type Extents = readonly number[];

/** What two generations must have in common to be joined. */
export type DataSchema = Manifest['schema'];

/** A joined shard gets the bytes of the old samples as they lie. The format says how they are found. */
export type Join =
  /** By the member list. `head` goes before the first sample. */
  | {
      readonly by: 'memberList';
      extents(samples: readonly SampleLines[], shardBytes: number): Extents;
      head?(schema: DataSchema): Uint8Array;
    }
  /** By a table at the head of each shard. */
  | {
      readonly by: 'table';
      tableBytes(samples: number): number;
      extents(table: Buffer): Extents;
      /** @param sizes bytes of the new shard's samples, in order */
      head(sizes: readonly number[], settings: PackingSettings, schema: DataSchema): Uint8Array;
    }
  /** Each sample is encoded again, from the bytes of its members. */
  | { readonly by: 'rows' }
  /** Each sample begins with a head of fixed size, which tells how many bytes follow. */
  | {
      readonly by: 'frames';
      readonly headBytes: number;
      bytesAfter(head: Buffer): number;
    };

/**
 * For a format in which the bytes around each member follow from its name and size. A verification compares them. Names
 * are unique in a shard, so a join renames members and writes these bytes for the new names.
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

/** The input of an index over all shards of a generation. */
export interface IndexedShards {
  readonly generation: string;
  readonly settings: { readonly labelType?: string | undefined; readonly shardMegabytes: number };
  readonly sourceSchema: SourceSchema;
  /** Folder of the shards, relative to the generation's. */
  readonly folder: string;
  readonly shards: Manifest['shards'];
}

/** An index over all shards of a generation. */
export interface DatasetIndex {
  /** Its name in the generation's folder. */
  readonly name: string;
  body(indexed: IndexedShards): Uint8Array;
  /** Compares a stored index with the expected one. By default every byte must be equal. */
  readonly isSame?: (stored: Buffer, expected: Buffer) => boolean;
}

interface AnyFormat {
  /** File name suffix of shards, without the dot. */
  readonly suffix: (settings: PackingSettings) => string;
  /** Shards are one gzip member each; offsets are those of the plain bytes. */
  readonly isGzipped?: (settings: PackingSettings) => boolean;
  /** Bytes of a member of this name and size in a shard. */
  plannedBytes(name: string, size: number): number;
  encoder(context: ShardContext): ShardEncoder;
  schema(settings: PackingSettings, sourceSchema: SourceSchema): DataSchema;
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
  /** A member lies in the shard as its bytes are, so the store can copy a large one. */
  readonly copiesMembers?: true;
  /** The layout is written before the first sample. If a sample drops out, the shard is built again. */
  readonly fixedLayout?: true;
  /** Members of a column lie together, so that those of a sample lie between those of others. */
  readonly isColumnar?: true;
  /**
   * For a format with a table at its end, by which readers find the samples.
   * @param tail the last bytes of the shard, the table among them @param lines sorted by offset
   * @returns what differs from the member list
   */
  readonly tailProblem?: (tail: Uint8Array, lines: readonly MemberLine[]) => string | undefined;
  /** In bytes; larger samples cannot be written. */
  readonly largestSample?: number;
  /** What stands for a label that the shards hold as a number. Undefined where they hold the text. */
  readonly labelNumber?: (label: string, settings: PackingSettings) => string | undefined;
  /** Faults of a text in this column at which a reader would stop. */
  readonly stopsAt?: (column: string) => readonly TextFault[];
  /** Why a sample of this outline cannot be in a shard, before anything of it is read. */
  refuses?(outline: Outline, sourceSchema: SourceSchema): Rejection | undefined;
}

/** Each object is taken whole, whatever its size. */
export interface FileFormat extends AnyFormat {
  readonly takes: 'files';
  /** For sources that must all begin with the same line. */
  readonly header?: {
    isShared(settings: PackingSettings): boolean;
    /** @param head the first bytes of a source, all of it or `HEAD_BYTES` */
    of(head: Uint8Array): string | undefined;
  };
  /**
   * For a format in which a source lies in the shard as it is, with a newline at its end. The store itself can then
   * copy a large source.
   * @param head the first bytes of a source, all of it or `HEAD_BYTES`
   * @returns how many of its first bytes are left out
   * @throws UnfitSampleError
   */
  readonly copyFrom?: (head: Buffer, sourceSchema: SourceSchema) => number;
  /** Whether each line of a source is a JSON document, whatever the source's name. */
  readonly isJsonLines?: (settings: PackingSettings) => boolean;
}

/** Objects stay where they lie: the sealed list of arrivals is all that there is of a generation. */
export interface NoFormat extends AnyFormat {
  readonly takes: 'nothing';
}

export type ShardFormat = SampleFormat | FileFormat | NoFormat;

/** Enough for the first line of a CSV file. */
export const HEAD_BYTES = 256 * 1024;

export const hasFixedLayout = (format: ShardFormat): boolean =>
  format.takes === 'samples' && format.fixedLayout === true;

export const largestSampleOf = (format: ShardFormat): number =>
  (format.takes === 'samples' ? format.largestSample : undefined) ?? Number.POSITIVE_INFINITY;
