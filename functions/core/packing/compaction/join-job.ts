/** What one joined shard is made of. */
import type { PackingSettings } from '../../pipeline/pipeline.ts';
import type { DataSchema, Extents, SampleLines, ShardFormat } from '../model/shard-format.ts';
import type { ShardReader } from './shard-reader.ts';

/** What the joiner needs of a ShardReader. */
type SequentialBytes = Pick<ShardReader, 'position' | 'take' | 'skip' | 'bytes' | 'finish' | 'close'>;

/** One old shard, opened. */
export interface JoinInput {
  readonly reader: SequentialBytes;
  readonly samples: readonly SampleLines[];
  /** Indexes of the samples that are joined, in order. */
  readonly kept: readonly number[];
  /** Undefined if only the frames tell where its samples lie. */
  readonly extents: Extents | undefined;
  /** Added to its numbers of samples. */
  readonly base: number;
}

export interface JoinJob {
  readonly key: string;
  readonly packing: PackingSettings;
  readonly format: ShardFormat;
  readonly schema: DataSchema;
  readonly inputs: readonly JoinInput[];
  /** For each place the input whose next sample it gets. */
  readonly order: Uint32Array;
  /** Of the new shard. Copies make up for those that the order lacks; by default there are none. */
  readonly samples?: number | undefined;
}
