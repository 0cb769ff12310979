/** The shard formats by name: the only registry of what they can do. */
import type { FormatName, SHARD_FORMATS } from '@tidewheel/declaration/packing-settings.ts';
import type { NoFormat, ShardFormat } from '../documents/shard-format.ts';
import { lines } from './lines.ts';
import { mds } from './mds.ts';
import { parquet } from './parquet.ts';
import { records } from './record-files.ts';
import { recordio } from './recordio.ts';
import { tfrecord } from './tfrecord.ts';
import { webdataset } from './webdataset.ts';

const noShard = (): never => {
  throw new Error('packing: none has no shard');
};

/** Nothing writes, joins or indexes a shard of it. */
const none: NoFormat = {
  takes: 'nothing',
  suffix: noShard,
  plannedBytes: (_name, size) => size,
  encoder: noShard,
  schema: () => ({}),
  join: { by: 'rows' },
};

/** Each takes what the declaration says that it takes. */
const FORMATS: {
  readonly [Name in FormatName]: Extract<ShardFormat, Pick<(typeof SHARD_FORMATS)[Name], 'takes'>>;
} = { webdataset, tfrecord, recordio, mds, parquet, lines, records, none };

export const formatOf = ({ format }: { readonly format: FormatName }): ShardFormat => FORMATS[format];
