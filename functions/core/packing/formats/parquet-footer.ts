/**
 * Reads the footer of a Parquet file as its readers do, by a library that did not write it, and compares it with the
 * member list: a reader finds a value by the footer alone.
 */

import { messageOf } from '@tidewheel/kit/errors.ts';
import { type FileMetaData, parquetMetadata } from 'hyparquet';
import type { MemberLine } from '../model/documents.ts';

type Chunk = FileMetaData['row_groups'][number]['columns'][number];

/** @param tail the last bytes of the shard, with the footer @param lines sorted by offset @returns what differs */
export function footerProblem(tail: Uint8Array, lines: readonly MemberLine[]): string | undefined {
  let metadata: FileMetaData;
  try {
    metadata = parquetMetadata(new Uint8Array(tail).buffer);
  } catch (error: unknown) {
    return `has no footer that Parquet's readers understand: ${messageOf(error)}`;
  }
  const columns = Map.groupBy(lines, ({ column = '' }) => column);
  const wrong = metadata.row_groups.some(({ columns: chunks }) => chunks.length !== columns.size + 1);
  if (wrong) return `has a footer without its ${columns.size} columns and the key`;
  for (const [name, members] of columns) {
    const problem = columnProblem(metadata, name, members);
    if (problem !== undefined) return `has a footer that ${problem} of the column ${name}`;
  }
  return undefined;
}

/** Each chunk must end with its last value, and hold as many as the row group has rows. */
function columnProblem(
  { num_rows: rows, row_groups: groups }: FileMetaData,
  name: string,
  members: readonly MemberLine[],
): string | undefined {
  if (Number(rows) !== members.length) return `names ${rows} rows, not the ${members.length}`;
  let next = 0;
  for (const group of groups) {
    const chunk = group.columns.find(({ meta_data: data }) => data?.path_in_schema[0] === name);
    const range = chunk && rangeOf(chunk);
    const own = members.slice(next, next + Number(group.num_rows));
    next += own.length;
    const [first, last] = [own[0], own.at(-1)];
    if (range === undefined || first === undefined || last === undefined) return 'lacks a part';
    if (first.offset < range.start || last.offset + last.size !== range.end) return 'says another place';
  }
  return next === members.length ? undefined : 'leaves out rows';
}

function rangeOf({ meta_data: data }: Chunk): { readonly start: number; readonly end: number } | undefined {
  if (data === undefined || data.codec !== 'UNCOMPRESSED') return undefined;
  const start = Number(data.data_page_offset);
  return { start, end: start + Number(data.total_compressed_size) };
}
