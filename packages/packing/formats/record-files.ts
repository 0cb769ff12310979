/**
 * Files of TFRecord or RecordIO frames, joined. The framing of the records is checked; their content is not decoded.
 */
import { createHash } from 'node:crypto';
import {
  type FileFormat,
  type SampleLines,
  type ShardEncoder,
  UnfitSampleError,
  type WrittenMember,
} from '../documents/shard-format.ts';
import { crc32c, maskedCrc32c } from './crc32c.ts';

const RECORDIO_MAGIC = 0xced7230a;

/** Checks frames in chunks of any size. */
abstract class FrameChecker {
  #head = Buffer.alloc(0);
  #skip = 0;
  protected abstract readonly headBytes: number;
  /** Bytes that follow this head; undefined for a broken head. */
  protected abstract bodyBytes(head: Buffer): number | undefined;

  take(chunk: Uint8Array): void {
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    while (rest.length > 0) {
      const skipped = Math.min(this.#skip, rest.length);
      this.#skip -= skipped;
      rest = rest.subarray(skipped);
      if (this.#skip > 0 || rest.length === 0) return;
      const wanted = this.headBytes - this.#head.length;
      this.#head = Buffer.concat([this.#head, rest.subarray(0, wanted)]);
      rest = rest.subarray(wanted);
      if (this.#head.length < this.headBytes) return;
      const body = this.bodyBytes(this.#head);
      if (body === undefined) throw new UnfitSampleError('brokenRecord');
      this.#skip = body;
      this.#head = Buffer.alloc(0);
    }
  }

  end(): void {
    if (this.#skip > 0 || this.#head.length > 0) throw new UnfitSampleError('brokenRecord');
  }
}

class TfrecordChecker extends FrameChecker {
  protected override readonly headBytes = 12;
  protected override bodyBytes(head: Buffer): number | undefined {
    if (maskedCrc32c(crc32c(head.subarray(0, 8))) !== head.readUInt32LE(8)) return undefined;
    const length = Number(head.readBigUInt64LE());
    return Number.isSafeInteger(length) ? length + 4 : undefined;
  }
}

/** A frame's flag: it holds a whole record, or its first part, or its last. 2 is a part in between. */
const WHOLE = 0;
const FIRST = 1;
const LAST = 3;

class RecordioChecker extends FrameChecker {
  protected override readonly headBytes = 8;
  /**
   * Inside a record of several parts. If its last part were missing, readers would add the next source's record to
   * it.
   */
  #isWithin = false;

  protected override bodyBytes(head: Buffer): number | undefined {
    if (head.readUInt32LE() !== RECORDIO_MAGIC) return undefined;
    const word = head.readUInt32LE(4);
    const flag = word >>> 29;
    const begins = flag === WHOLE || flag === FIRST;
    if (flag > LAST || begins === this.#isWithin) return undefined;
    this.#isWithin = flag !== WHOLE && flag !== LAST;
    return Math.ceil((word & 0x1fff_ffff) / 4) * 4;
  }

  override end(): void {
    if (this.#isWithin) throw new UnfitSampleError('brokenRecord');
    super.end();
  }
}

const encoder = (kind: 'tfrecord' | 'recordio'): ShardEncoder => ({
  add: async (sink, _outline, members) => {
    const written: WrittenMember[] = [];
    for (const member of members) {
      const checker = checkerOf(kind);
      const digest = createHash('sha256');
      const offset = sink.position;
      if (Array.isArray(member.body)) checkWhole(member.body, kind);
      for await (const chunk of checked(member.body, checker)) {
        digest.update(chunk);
        await sink.write(chunk);
      }
      written.push({ offset, sha256: digest.digest('hex') });
    }
    return written;
  },
});

const checkerOf = (kind: 'tfrecord' | 'recordio'): FrameChecker =>
  kind === 'tfrecord' ? new TfrecordChecker() : new RecordioChecker();

/** A broken source in memory is rejected before a byte of it is written. */
function checkWhole(chunks: readonly Uint8Array[], kind: 'tfrecord' | 'recordio'): void {
  const checker = checkerOf(kind);
  for (const chunk of chunks) checker.take(chunk);
  checker.end();
}

async function* checked(
  body: readonly Uint8Array[] | AsyncIterable<Uint8Array>,
  checker: FrameChecker,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    checker.take(chunk);
    yield chunk;
  }
  checker.end();
}

const endOf = (sample: SampleLines): number => Math.max(...sample.map(({ offset, size }) => offset + size));

export const records: FileFormat = {
  takes: 'files',
  suffix: ({ records: { kind } }) => (kind === 'tfrecord' ? 'tfrecord' : 'rec'),
  plannedBytes: (_name, size) => size,
  encoder: ({ settings }) => encoder(settings.records.kind),
  schema: ({ records: { kind } }) => ({ kind }),
  join: { by: 'memberList', extents: (samples) => [samples[0]?.[0]?.offset ?? 0, ...samples.map(endOf)] },
};
