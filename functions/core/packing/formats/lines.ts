/** Text joined line by line: JSON Lines, CSV under one header, LibSVM, plain text. A source is taken whole. */
import { createHash } from 'node:crypto';
import {
  COPY_HEAD_BYTES,
  type MemberBody,
  type Placed,
  type ShardEncoder,
  type ShardFormat,
  Unfit,
} from '../model/shard-format.ts';

const NEWLINE = 0x0a;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

async function* chunksOf(body: MemberBody): AsyncGenerator<Uint8Array> {
  yield* body;
}

/** Takes the header off the first bytes; readers of CSV ignore a byte-order mark and the carriage return. */
function afterHeader(head: Buffer, expected: string): Buffer {
  const start = head.subarray(0, 3).equals(BOM) ? 3 : 0;
  const end = head.indexOf(NEWLINE, start);
  const line = (end < 0 ? head.subarray(start) : head.subarray(start, end)).toString();
  if (line.replace(/\r$/, '') !== expected.trimEnd()) throw new Unfit('headerDiffers');
  return end < 0 ? head.subarray(head.length) : head.subarray(end + 1);
}

/** The source without its header line. */
async function* withoutHeader(body: MemberBody, header: string): AsyncGenerator<Uint8Array> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of chunksOf(body)) {
    if (head === undefined) yield chunk;
    else {
      head = Buffer.concat([head, chunk]);
      if (!head.includes(NEWLINE) && head.length < COPY_HEAD_BYTES) continue;
      yield afterHeader(head, header);
      head = undefined;
    }
  }
  if (head !== undefined) afterHeader(head, header);
}

/** Bytes of the source as they go into the shard: header off, a newline at the end. */
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
    const placed: Placed[] = [];
    for (const member of members) {
      const offset = sink.position;
      const digest = createHash('sha256');
      for await (const bytes of joined(member.body, header)) {
        digest.update(bytes);
        await sink.write(bytes);
      }
      placed.push({ offset, size: sink.position - offset, sha256: digest.digest('hex') });
    }
    return placed;
  },
  finish: () => Promise.resolve(),
});

export const lines: ShardFormat = {
  suffix: ({ lines: { kind } }) => ({ text: 'txt', jsonl: 'jsonl', csv: 'csv', libsvm: 'libsvm' })[kind],
  grouped: false,
  order: 'suffix',
  fixedLayout: false,
  largestSample: Number.POSITIVE_INFINITY,
  plannedBytes: (_name, size) => size + 1,
  refuses: () => undefined,
  copyFrom: (head, { csvHeader }) =>
    csvHeader === undefined ? 0 : head.length - afterHeader(head, csvHeader).length,
  encoder: ({ settings, facts }) => encoder(facts.csvHeader, settings.lines.header === 'perShard'),
};
