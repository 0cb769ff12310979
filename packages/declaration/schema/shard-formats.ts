/**
 * The shard formats that a declaration can name, with what it can set for single ones. packing/formats/ implements
 * them.
 */
import { valueAt } from '@tidewheel/kit/tables.ts';
import * as z from 'zod';

export interface DeclaredFormat {
  /**
   * `samples`: objects of one stem form a sample, which may get a label. `files`: each object goes into a shard as it
   * is, so that its labels are inside it. `nothing`: objects stay where they lie, and no shard is written.
   */
  readonly takes: 'samples' | 'files' | 'nothing';
  /** The largest shard in 10^6 bytes that the format can address, and why. */
  readonly largestShard?: { readonly megabytes: number; readonly because: string };
  /** Why no reader reads it from a Pipe, which only goes forward. */
  readonly seeks?: string;
}

/** By name. The order is that of docs/pipeline.schema.json. */
export const SHARD_FORMATS = {
  webdataset: { takes: 'samples' },
  tfrecord: { takes: 'samples' },
  recordio: { takes: 'samples' },
  mds: {
    takes: 'samples',
    largestShard: { megabytes: 4_000, because: 'mds holds 32-bit offsets' },
    seeks: 'mosaicml-streaming finds samples by the offsets of an index beside the shards',
  },
  parquet: { takes: 'samples', seeks: 'readers of Parquet begin at the end of a file' },
  lines: { takes: 'files' },
  records: { takes: 'files' },
  none: { takes: 'nothing' },
} as const satisfies Readonly<Record<string, DeclaredFormat>>;

export type FormatName = keyof typeof SHARD_FORMATS;
export const DEFAULT_FORMAT: FormatName = 'webdataset';

const isFormatName = (name: string): name is FormatName => Object.hasOwn(SHARD_FORMATS, name);
const ALL_NAMES: readonly FormatName[] = Object.keys(SHARD_FORMATS).filter(isFormatName);
export const formatNameSchema = z.enum(ALL_NAMES);

const declared = (name: string): DeclaredFormat | undefined =>
  isFormatName(name) ? SHARD_FORMATS[name] : undefined;

/** Whether the sealed files are the dataset, as they lie under `incoming/`. Reads what other rules have refused too. */
export const isUnpacked = (packing: { readonly format?: unknown } | undefined): boolean =>
  typeof packing?.format === 'string' && declared(packing.format)?.takes === 'nothing';

/** Every format but that of files that are not packed. */
export const FORMAT_NAMES = ALL_NAMES.filter((format) => !isUnpacked({ format }));

/** False as well for a name that is no format. */
export const takesFiles = (name: string): boolean => declared(name)?.takes === 'files';
/** The formats that take files, as a phrase. */
export const FILE_FORMATS = FORMAT_NAMES.filter(takesFiles).join(' and ');

/** Whether its samples may be texts. True as well for a name that is no format. */
export const mayHoldTexts = (name: string): boolean => name !== 'records';

export const largestShardOf = (name: string): DeclaredFormat['largestShard'] => declared(name)?.largestShard;

/** Reads what other rules have refused too, so a field may be of any type. */
export function pipeProblems({ packing, training }: Partial<Record<'packing' | 'training', unknown>>) {
  const format = valueAt(packing, ['format']);
  if (typeof format !== 'string' || valueAt(training, ['inputMode']) !== 'Pipe') return [];
  const seeks = declared(format)?.seeks;
  if (seeks === undefined) return [];
  const message = `Pipe cannot carry packing.format ${format}, because ${seeks}: write FastFile or File, or pack webdataset, tfrecord, recordio or lines`;
  return [{ path: ['training', 'inputMode'], message }];
}

/** Settings of single formats, as fields of `packing`. */
export const FORMAT_SETTINGS = {
  lines: z
    .strictObject({
      kind: z.enum(['text', 'jsonl', 'csv', 'libsvm']).default('text'),
      header: z
        .enum(['none', 'perShard', 'drop'])
        .default('none')
        .describe('CSV sources with a header line: keep it once in each shard, or leave it out.'),
    })
    .prefault({})
    .describe('Only for the format lines.'),
  records: z
    .strictObject({ kind: z.enum(['tfrecord', 'recordio']).default('tfrecord') })
    .prefault({})
    .describe('Only for the format records: what the arrivals are.'),
  tfrecord: z
    .strictObject({
      compression: z
        .enum(['none', 'gzip'])
        .default('none')
        .describe("gzip: each shard is one gzip file, read with compression_type='GZIP'."),
    })
    .describe('Only for the format tfrecord.')
    .optional(),
};
