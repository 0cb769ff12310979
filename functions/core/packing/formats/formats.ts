/** The shard formats by name. */
import type { PackingSettings } from '../../pipeline/pipeline.ts';
import type { ShardFormat } from '../model/shard-format.ts';
import { lines } from './lines.ts';
import { mds } from './mds.ts';
import { records } from './record-files.ts';
import { recordio } from './recordio.ts';
import { tfrecord } from './tfrecord.ts';
import { webdataset } from './webdataset.ts';

export const FORMATS = { webdataset, tfrecord, recordio, mds, lines, records } satisfies Record<
  PackingSettings['format'],
  ShardFormat
>;

export const formatOf = (settings: PackingSettings): ShardFormat => FORMATS[settings.format];
