/** MDS, the shards of mosaicml-streaming: a table of offsets, the columns' description, then the samples. */

import { isUtf8 } from 'node:buffer';
import {
  type EncodedMember,
  type Outline,
  type Placed,
  type PlanFacts,
  type ShardContext,
  type ShardEncoder,
  type ShardFormat,
  Unfit,
} from '../model/shard-format.ts';
import { collect, isInMemory, pour } from './copy-bytes.ts';
import { integerOf } from './integer-label.ts';
import { KEY_COLUMN } from './tfrecord.ts';

const IMAGE_COLUMNS = /^image$/;

/** What an MDS file says of the pipeline's settings. */
export interface MdsSettings {
  readonly labelType?: string | undefined;
  readonly shardMegabytes: number;
}

/** How streaming reads a column back; images are decoded by their own first bytes whatever this says. */
function encodingOf(column: string, settings: Pick<MdsSettings, 'labelType'>): string {
  if (column === 'label') return settings.labelType === 'integer' ? 'int' : 'str';
  if (column === KEY_COLUMN || column === 'txt' || column === 'text') return 'str';
  if (column === 'json') return 'json';
  return IMAGE_COLUMNS.test(column) ? 'jpeg' : 'bytes';
}

const FIXED_BYTES: Readonly<Record<string, number>> = { int: 8 };

export interface MdsColumns {
  readonly column_names: readonly string[];
  readonly column_encodings: readonly string[];
  readonly column_sizes: readonly (number | null)[];
}

function mdsColumns(settings: Pick<MdsSettings, 'labelType'>, facts: PlanFacts): MdsColumns {
  const names = [...facts.columns, KEY_COLUMN].sort();
  const encodings = names.map((name) => encodingOf(name, settings));
  return {
    column_names: names,
    column_encodings: encodings,
    column_sizes: encodings.map((encoding) => FIXED_BYTES[encoding] ?? null),
  };
}

/** What every shard and index.json say of the format; keys sorted as the reference writer does. */
export function mdsConfig(settings: MdsSettings, facts: PlanFacts) {
  const { column_names, column_encodings, column_sizes } = mdsColumns(settings, facts);
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

/** Length words and values of one sample. */
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

function header(context: ShardContext, columns: MdsColumns): Buffer {
  const { outlines, settings, facts } = context;
  const config = Buffer.from(JSON.stringify(mdsConfig(settings, facts)));
  const words = Buffer.alloc(4 + 4 * (outlines.length + 1));
  words.writeUInt32LE(outlines.length);
  let offset = words.length + config.length;
  words.writeUInt32LE(offset, 4);
  for (const [index, outline] of outlines.entries()) {
    offset += sampleBytes(outline, columns);
    words.writeUInt32LE(offset, 8 + 4 * index);
  }
  return Buffer.concat([words, config]);
}

function lengthWords(outline: Outline, columns: MdsColumns): Buffer {
  const variable = columns.column_names.filter((_, index) => columns.column_sizes[index] === null);
  const words = Buffer.alloc(4 * variable.length);
  for (const [index, name] of variable.entries()) words.writeUInt32LE(sizeOf(outline, name), 4 * index);
  return words;
}

async function integer(member: EncodedMember): Promise<Buffer> {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(integerOf((await collect(member.body)).toString()));
  return bytes;
}

/** Python's json takes these as numbers, and writes them. */
const NUMBERS_OF_PYTHON = /\bNaN\b|\bInfinity\b/g;

function proveJson(text: string): void {
  try {
    JSON.parse(text.replace(NUMBERS_OF_PYTHON, '0'));
  } catch {
    throw new Unfit('notJson');
  }
}

function proveReadable(encoding: string | undefined, bytes: Buffer): void {
  if (encoding === 'int') integerOf(bytes.toString());
  if ((encoding === 'str' || encoding === 'json') && !isUtf8(bytes)) throw new Unfit('notText');
  if (encoding === 'json') proveJson(bytes.toString());
}

/**
 * A reader decodes each column by its type, and stops at the first sample of which it cannot. Found out before a byte of the
 * sample is written, one that does not fit costs no new beginning of the shard. Members that are read while they are
 * written, which are large, are not looked at.
 */
function proveTypes(members: readonly EncodedMember[], columns: MdsColumns): void {
  for (const [index, name] of columns.column_names.entries()) {
    const body = members.find(({ column }) => column === name)?.body;
    const encoding = columns.column_encodings[index];
    if (encoding !== 'bytes' && encoding !== 'jpeg' && body !== undefined && isInMemory(body))
      proveReadable(encoding, Buffer.concat(body));
  }
}

function encoder(context: ShardContext): ShardEncoder {
  const columns = mdsColumns(context.settings, context.facts);
  return {
    start: async (sink) => {
      await sink.write(header(context, columns));
    },
    add: async (sink, outline, members) => {
      proveTypes(members, columns);
      await sink.write(lengthWords(outline, columns));
      const placed = new Map<string, Placed>();
      for (const [index, name] of columns.column_names.entries()) {
        const member = members.find(({ column }) => column === name);
        const offset = sink.position;
        if (member === undefined) await sink.write(Buffer.from(members[0]?.stem ?? ''));
        else if (typeof columns.column_sizes[index] === 'number') {
          await sink.write(await integer(member));
          placed.set(name, { offset, size: 8, sha256: '' });
        } else placed.set(name, { offset, sha256: await pour(sink, member.body) });
      }
      return members.map(({ column }) => placed.get(column) ?? { offset: 0, sha256: '' });
    },
    finish: () => Promise.resolve(),
  };
}

export const mds: ShardFormat = {
  suffix: () => 'mds',
  grouped: true,
  order: 'column',
  fixedLayout: true,
  largestSample: 2e9,
  plannedBytes: (_name, size) => size + 8,
  refuses: (outline, { facts }) => {
    const mine = outline.members.map(({ column }) => column).sort();
    return mine.length === facts.columns.length && mine.every((name, index) => name === facts.columns[index])
      ? undefined
      : 'columnsDiffer';
  },
  encoder,
};
