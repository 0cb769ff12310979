/** MDS, the shards of mosaicml-streaming: a table of offsets, the columns' description, then the samples. */
import { isUtf8 } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import {
  type DatasetIndex,
  type EncodedMember,
  type Extents,
  type IndexedShards,
  type Outline,
  type SampleFormat,
  type ShardContext,
  type ShardEncoder,
  type SourceSchema,
  UnfitSampleError,
  type WrittenMember,
} from '../documents/shard-format.ts';
import { isJson } from '../media/text-facts.ts';
import { collect, copyBytes, isInMemory } from './copy-bytes.ts';
import { integerLabel, parseIntegerLabel } from './integer-label.ts';
import { KEY_COLUMN } from './tfrecord.ts';

const IMAGE_COLUMNS = /^image$/;

/** The settings that an MDS file depends on. */
type MdsSettings = IndexedShards['settings'];

/** The encoding by which streaming decodes a column. It decodes any image by its first bytes. */
function encodingOf(column: string, settings: Pick<MdsSettings, 'labelType'>): string {
  if (column === 'label') return settings.labelType === 'integer' ? 'int' : 'str';
  if (column === KEY_COLUMN || column === 'txt' || column === 'text') return 'str';
  if (column === 'json') return 'json';
  return IMAGE_COLUMNS.test(column) ? 'jpeg' : 'bytes';
}

const FIXED_BYTES: Readonly<Record<string, number>> = { int: 8 };

interface MdsColumns {
  readonly column_names: readonly string[];
  readonly column_encodings: readonly string[];
  readonly column_sizes: readonly (number | null)[];
}

function mdsColumns(settings: Pick<MdsSettings, 'labelType'>, sourceSchema: SourceSchema): MdsColumns {
  const names = [...sourceSchema.columns, KEY_COLUMN].sort();
  const encodings = names.map((name) => encodingOf(name, settings));
  return {
    column_names: names,
    column_encodings: encodings,
    column_sizes: encodings.map((encoding) => FIXED_BYTES[encoding] ?? null),
  };
}

/** The description in every shard and in index.json. Its keys are sorted as by the reference writer. */
function mdsConfig(settings: MdsSettings, sourceSchema: SourceSchema) {
  const { column_names, column_encodings, column_sizes } = mdsColumns(settings, sourceSchema);
  return {
    column_encodings,
    column_names,
    column_sizes,
    compression: null,
    format: 'mds',
    hashes: [],
    size_limit: Math.round(settings.shardMegabytes * 1e6),
    version: 2,
  };
}

/** Bytes of a sample: words of length, then values. */
function sampleBytes(outline: Outline, columns: MdsColumns): number {
  let bytes = 0;
  for (const [index, name] of columns.column_names.entries()) {
    const fixed = columns.column_sizes[index];
    bytes += typeof fixed === 'number' ? fixed : 4 + sizeOf(outline, name);
  }
  return bytes;
}

function sizeOf(outline: Outline, column: string): number {
  if (column === KEY_COLUMN) return Buffer.byteLength(outline.members[0]?.stem ?? '');
  return outline.members.find((member) => member.column === column)?.size ?? 0;
}

/** Bytes of the table: number of samples, first byte of each, end of the last, as words of 32 bits. */
const tableBytes = (samples: number): number => 4 + 4 * (samples + 1);

/** @param sizes bytes of the samples that follow */
function shardHead(sizes: readonly number[], settings: MdsSettings, sourceSchema: SourceSchema): Buffer {
  const config = Buffer.from(JSON.stringify(mdsConfig(settings, sourceSchema)));
  const table = Buffer.alloc(tableBytes(sizes.length));
  table.writeUInt32LE(sizes.length);
  let offset = table.length + config.length;
  table.writeUInt32LE(offset, 4);
  for (const [index, size] of sizes.entries()) {
    offset += size;
    table.writeUInt32LE(offset, 8 + 4 * index);
  }
  return Buffer.concat([table, config]);
}

function readTable(table: Buffer): Extents {
  const count = table.readUInt32LE();
  return Array.from({ length: count + 1 }, (_, index) => table.readUInt32LE(4 + 4 * index));
}

function lengthWords(outline: Outline, columns: MdsColumns): Buffer {
  const variable = columns.column_names.filter((_, index) => columns.column_sizes[index] === null);
  const words = Buffer.alloc(4 * variable.length);
  for (const [index, name] of variable.entries()) words.writeUInt32LE(sizeOf(outline, name), 4 * index);
  return words;
}

async function integer(member: EncodedMember): Promise<Buffer> {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(parseIntegerLabel((await collect(member.body)).toString()));
  return bytes;
}

function checkReadable(encoding: string | undefined, bytes: Buffer): void {
  if (encoding === 'int') parseIntegerLabel(bytes.toString());
  if ((encoding === 'str' || encoding === 'json') && !isUtf8(bytes)) throw new UnfitSampleError('notText');
  if (encoding === 'json' && !isJson(bytes.toString())) throw new UnfitSampleError('notJson');
}

/**
 * A reader decodes each column by its type and stops at the first sample that it cannot decode. Such a sample is
 * found before a byte of it is written, so that the shard need not be built again. Large members, which are read
 * while they are written, are checked behind their last byte (`stopsAt`).
 */
function checkTypes(members: readonly EncodedMember[], columns: MdsColumns): void {
  for (const [index, name] of columns.column_names.entries()) {
    const body = members.find(({ column }) => column === name)?.body;
    const encoding = columns.column_encodings[index];
    if (encoding !== 'bytes' && encoding !== 'jpeg' && body !== undefined && isInMemory(body))
      checkReadable(encoding, Buffer.concat(body));
  }
}

function encoder(context: ShardContext): ShardEncoder {
  const { settings, sourceSchema, outlines } = context;
  const columns = mdsColumns(settings, sourceSchema);
  return {
    start: async (sink) => {
      const sizes = outlines.map((outline) => sampleBytes(outline, columns));
      await sink.write(shardHead(sizes, settings, sourceSchema));
    },
    add: async (sink, outline, members) => {
      checkTypes(members, columns);
      await sink.write(lengthWords(outline, columns));
      const written = new Map<string, WrittenMember>();
      for (const [index, name] of columns.column_names.entries()) {
        const member = members.find(({ column }) => column === name);
        const offset = sink.position;
        if (member === undefined) await sink.write(Buffer.from(members[0]?.stem ?? ''));
        else if (typeof columns.column_sizes[index] === 'number') {
          await sink.write(await integer(member));
          written.set(name, { offset, size: 8, sha256: '' });
        } else written.set(name, { offset, sha256: await copyBytes(sink, member.body) });
      }
      return members.map(({ column }) => written.get(column) ?? { offset: 0, sha256: '' });
    },
  };
}

const storedIndex = z.looseObject({ shards: z.array(z.looseObject({ size_limit: z.number() })) });

function withoutLimits(index: Buffer): unknown {
  const { shards, ...rest } = storedIndex.parse(JSON.parse(index.toString()));
  return { ...rest, shards: shards.map((shard) => ({ ...shard, size_limit: 0 })) };
}

/** streaming's index.json. */
const datasetIndex: DatasetIndex = {
  name: 'index.json',
  body: ({ settings, sourceSchema, shards, folder }) => {
    const config = mdsConfig(settings, sourceSchema);
    const entries = shards.map(({ name, samples, bytes }) => ({
      ...config,
      raw_data: { basename: `${folder}${name}`, bytes, hashes: {} },
      samples,
      zip_data: null,
    }));
    return Buffer.from(`${JSON.stringify({ shards: entries, version: 2 })}\n`);
  },
  /** Ignores the size limits, which come from the declaration at the time of packing and are not in the manifest. */
  isSame: (stored, expected) => {
    try {
      return isDeepStrictEqual(withoutLimits(stored), withoutLimits(expected));
    } catch {
      return false;
    }
  },
};

export const mds: SampleFormat = {
  takes: 'samples',
  suffix: () => 'mds',
  order: 'column',
  fixedLayout: true,
  largestSample: 2e9,
  labelNumber: integerLabel,
  plannedBytes: (_name, size) => size + 8,
  refuses: (outline, sourceSchema) => {
    const mine = outline.members.map(({ column }) => column).sort();
    return mine.length === sourceSchema.columns.length &&
      mine.every((name, index) => name === sourceSchema.columns[index])
      ? undefined
      : 'columnsDiffer';
  },
  stopsAt: (column) => {
    const encoding = encodingOf(column, {});
    if (encoding === 'json') return ['notText', 'notJson'];
    return encoding === 'str' ? ['notText'] : [];
  },
  encoder,
  schema: ({ labelType }, { columns }) => ({ labelType, columns: [...columns] }),
  join: {
    by: 'table',
    tableBytes,
    extents: readTable,
    head: (sizes, settings, { columns = [] }) => shardHead(sizes, settings, { columns }),
  },
  datasetIndex,
};
