/** Files of lines, joined: JSON Lines, CSV with one header, LibSVM, plain text. */
import { createHash } from 'node:crypto';
import {
  type FileFormat,
  type MemberBody,
  type SampleLines,
  type ShardEncoder,
  UnfitSampleError,
  type WrittenMember,
} from '../documents/shard-format.ts';
import { isNoText, NO_TEXT_BYTES } from '../documents/sniff.ts';
import { csvHeaderIn, hasHeader, markBytes, rowsAfter } from './csv-header.ts';

const NEWLINE = 0x0a;

/** The source in pieces, of which the first is not too small to be recognized. @throws UnfitSampleError */
async function* chunksOf(body: MemberBody): AsyncGenerator<Uint8Array> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of body) {
    if (head === undefined) yield chunk;
    else {
      head = Buffer.concat([head, chunk]);
      if (head.length < NO_TEXT_BYTES) continue;
      yield withoutMark(textOf(head));
      head = undefined;
    }
  }
  if (head !== undefined) yield withoutMark(textOf(head));
}

/** A byte-order mark would lie in the midst of the shard, where it belongs to a value. */
const withoutMark = (head: Buffer): Buffer => head.subarray(markBytes(head));

/** A compressed file has no lines, and joined with others it can no longer be decompressed. */
function textOf(head: Buffer): Buffer {
  if (isNoText(head)) throw new UnfitSampleError('notText');
  return head;
}

/** The source without its header line. @throws UnfitSampleError */
async function* withoutHeader(body: MemberBody, header: string): AsyncGenerator<Uint8Array> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of chunksOf(body)) {
    if (head === undefined) yield chunk;
    else {
      head = Buffer.concat([head, chunk]);
      if (!hasHeader(head)) continue;
      yield head.subarray(rowsAfter(head, header));
      head = undefined;
    }
  }
  if (head !== undefined) yield head.subarray(rowsAfter(head, header));
}

/** The source as it lies in the shard: without its header, with a newline at its end. */
async function* joined(body: MemberBody, header: string | undefined): AsyncGenerator<Uint8Array> {
  let last: number | undefined;
  for await (const bytes of header === undefined ? chunksOf(body) : withoutHeader(body, header)) {
    if (bytes.length === 0) continue;
    last = bytes.at(-1);
    yield bytes;
  }
  if (last !== undefined && last !== NEWLINE) yield Buffer.of(NEWLINE);
}

const encoder = (header: string | undefined, writesHeader: boolean): ShardEncoder => ({
  start: async (sink) => {
    if (writesHeader && header !== undefined) await sink.write(Buffer.from(header));
  },
  add: async (sink, _outline, members) => {
    const written: WrittenMember[] = [];
    for (const member of members) {
      const offset = sink.position;
      const digest = createHash('sha256');
      for await (const bytes of joined(member.body, header)) {
        digest.update(bytes);
        await sink.write(bytes);
      }
      written.push({ offset, size: sink.position - offset, sha256: digest.digest('hex') });
    }
    return written;
  },
});

const endOf = (sample: SampleLines): number => Math.max(...sample.map(({ offset, size }) => offset + size));

export const lines: FileFormat = {
  takes: 'files',
  suffix: ({ lines: { kind } }) => ({ text: 'txt', jsonl: 'jsonl', csv: 'csv', libsvm: 'libsvm' })[kind],
  plannedBytes: (_name, size) => size + 1,
  header: {
    isShared: ({ lines: { kind, header } }) => kind === 'csv' && header !== 'none',
    of: (head) => csvHeaderIn(Buffer.from(head)),
  },
  copyFrom: (head, { csvHeader }) => {
    const text = textOf(head);
    return csvHeader === undefined ? markBytes(text) : rowsAfter(text, csvHeader);
  },
  encoder: ({ settings, sourceSchema }) =>
    encoder(sourceSchema.csvHeader, settings.lines.header === 'perShard'),
  schema: ({ lines: { kind, header } }, { csvHeader }) => ({
    kind,
    ...(header === 'perShard' && csvHeader !== undefined && { csvHeader }),
    ...(header === 'drop' && csvHeader !== undefined && { droppedHeader: csvHeader }),
  }),
  isJsonLines: ({ lines: { kind } }) => kind === 'jsonl',
  join: {
    by: 'memberList',
    extents: (samples) => [samples[0]?.[0]?.offset ?? 0, ...samples.map(endOf)],
    head: ({ csvHeader = '' }) => Buffer.from(csvHeader),
  },
};
