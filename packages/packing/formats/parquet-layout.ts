/**
 * Where everything lies in a Parquet file. The sizes of all samples are known before the first, so that every offset is,
 * too. hyparquet-writer writes the headers of pages and the footer.
 */
import { ByteWriter } from 'hyparquet-writer';
import { writePageHeader } from 'hyparquet-writer/src/datapage.js';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import type { Outline, ShardContext } from '../documents/shard-format.ts';
import { KEY_COLUMN } from './tfrecord.ts';

export const MAGIC = Buffer.from('PAR1');
/** Held in memory while it fills. A sample that is larger has a row group of its own, and streams through. */
const ROW_GROUP_BYTES = 16 * 1024 * 1024;
export const LENGTH_BYTES = 4;
export const INTEGER_BYTES = 8;

export interface ParquetColumn {
  readonly name: string;
  readonly kind: 'text' | 'integer' | 'bytes';
}

const TEXTS = new Set([KEY_COLUMN, 'label', 'txt', 'text', 'json']);
export const isTextColumn = (name: string): boolean => TEXTS.has(name);

/** The key is the first. The others are in the order in which a sample's members come. */
export function columnsOf({
  settings,
  sourceSchema,
}: Pick<ShardContext, 'settings' | 'sourceSchema'>): ParquetColumn[] {
  return [KEY_COLUMN, ...sourceSchema.columns].map((name) => ({
    name,
    kind: !isTextColumn(name)
      ? 'bytes'
      : name === 'label' && settings.labelType === 'integer'
        ? 'integer'
        : 'text',
  }));
}

export function valueBytes(outline: Outline, { name, kind }: ParquetColumn): number {
  if (kind === 'integer') return INTEGER_BYTES;
  if (name === KEY_COLUMN) return LENGTH_BYTES + Buffer.byteLength(outline.members[0]?.stem ?? '');
  return LENGTH_BYTES + (outline.members.find(({ column }) => column === name)?.size ?? 0);
}

/** The values of a column in one row group, which are one page. */
interface Chunk {
  readonly header: Uint8Array;
  /** Of the header in the file. */
  readonly offset: number;
  /** Of all values. */
  readonly bytes: number;
}

export interface RowGroup {
  readonly rows: number;
  readonly offset: number;
  readonly bytes: number;
  readonly chunks: readonly Chunk[];
}

function pageHeader(bytes: number, rows: number): Uint8Array {
  const writer = new ByteWriter();
  writePageHeader(writer, {
    type: 'DATA_PAGE',
    uncompressed_page_size: bytes,
    compressed_page_size: bytes,
    data_page_header: {
      num_values: rows,
      encoding: 'PLAIN',
      definition_level_encoding: 'RLE',
      repetition_level_encoding: 'RLE',
    },
  });
  return writer.getBytes();
}

function layOutGroup(rows: readonly Outline[], columns: readonly ParquetColumn[], offset: number): RowGroup {
  const chunks: Chunk[] = [];
  let end = offset;
  for (const column of columns) {
    const bytes = rows.reduce((sum, row) => sum + valueBytes(row, column), 0);
    const header = pageHeader(bytes, rows.length);
    chunks.push({ header, offset: end, bytes });
    end += header.length + bytes;
  }
  return { rows: rows.length, offset, bytes: end - offset, chunks };
}

/** Groups follow from the sizes alone, so the same samples give the same bytes. */
export function layOutGroups(outlines: readonly Outline[], columns: readonly ParquetColumn[]): RowGroup[] {
  const groups: RowGroup[] = [];
  let rows: Outline[] = [];
  let held = 0;
  let offset = MAGIC.length;
  const close = (): void => {
    if (rows.length === 0) return;
    const group = layOutGroup(rows, columns, offset);
    groups.push(group);
    offset += group.bytes;
    rows = [];
    held = 0;
  };
  for (const outline of outlines) {
    const bytes = columns.reduce((sum, column) => sum + valueBytes(outline, column), 0);
    if (held + bytes > ROW_GROUP_BYTES) close();
    rows.push(outline);
    held += bytes;
  }
  close();
  return groups;
}

export function footer(groups: readonly RowGroup[], columns: readonly ParquetColumn[]): Buffer {
  const writer = new ByteWriter();
  writeMetadata(writer, {
    version: 1,
    metadata_length: 0,
    schema: [
      { name: 'samples', num_children: columns.length },
      ...columns.map(({ name, kind }) => ({
        name,
        type: kind === 'integer' ? ('INT64' as const) : ('BYTE_ARRAY' as const),
        repetition_type: 'REQUIRED' as const,
        ...(kind === 'text' && {
          converted_type: 'UTF8' as const,
          logical_type: { type: 'STRING' as const },
        }),
      })),
    ],
    num_rows: BigInt(groups.reduce((sum, { rows }) => sum + rows, 0)),
    row_groups: groups.map(({ rows, bytes, chunks }) => ({
      num_rows: BigInt(rows),
      total_byte_size: BigInt(bytes),
      columns: chunks.map(({ header, offset, bytes: values }, index) => ({
        file_offset: BigInt(offset),
        meta_data: {
          type: columns[index]?.kind === 'integer' ? ('INT64' as const) : ('BYTE_ARRAY' as const),
          encodings: ['PLAIN' as const, 'RLE' as const],
          path_in_schema: [columns[index]?.name ?? ''],
          codec: 'UNCOMPRESSED' as const,
          num_values: BigInt(rows),
          total_uncompressed_size: BigInt(header.length + values),
          total_compressed_size: BigInt(header.length + values),
          data_page_offset: BigInt(offset),
        },
      })),
    })),
    created_by: 'tidewheel',
  });
  return Buffer.concat([writer.getBytes(), MAGIC]);
}
