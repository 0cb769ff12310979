/** Compares the bytes of one stored shard with its member list. */

import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { quoted } from '@tidewheel/kit/quoted.ts';
import type { KeptSums } from '../documents/blob-store.ts';
import { isCopied, type MemberLine } from '../documents/documents.ts';
import type { MemberFrames } from '../documents/shard-format.ts';
import { SumCheck } from '../formats/running-sum.ts';

export interface ExpectedShard {
  /** Of the stored bytes. */
  readonly sums: KeptSums;
  /** Members with a digest or a checksum, sorted by offset. */
  readonly lines: readonly MemberLine[];
  /** The bytes between the members, where they are known. */
  readonly frames: MemberFrames | undefined;
  /** Says what is wrong with the bytes after the last of these members, where a format has a table there. */
  readonly tailProblem?: ((tail: Uint8Array) => string | undefined) | undefined;
  readonly isGzipped: boolean;
  readonly complain: (what: string) => void;
}

const isCodedAsZlib = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');

/** Compares the bytes with the list, in one pass. */
export class ShardVerifier {
  readonly #expected: ExpectedShard;
  readonly #lines: readonly MemberLine[];
  #position = 0;
  readonly #sum: SumCheck;
  #next = 0;
  #digest = createHash('sha256');
  /** Of a member that the store copied. */
  #memberSum: SumCheck | undefined;
  /** Bytes since the last member, compared with what must be there. */
  #between: Uint8Array[] = [];
  /** After the last member. */
  readonly #tail: Uint8Array[] = [];

  constructor(expected: ExpectedShard) {
    this.#expected = expected;
    this.#sum = new SumCheck(expected.sums);
    this.#lines = expected.lines;
    this.#closeEmpty();
  }

  /** Reads the stored bytes to their end; returns how many there were. */
  async verify(stored: AsyncIterable<Uint8Array>): Promise<number> {
    let bytes = 0;
    const counted = async function* (this: ShardVerifier): AsyncGenerator<Uint8Array> {
      for await (const chunk of stored) {
        this.#sum.add(chunk);
        bytes += chunk.length;
        yield chunk;
      }
    };
    const source = counted.call(this);
    if (this.#expected.isGzipped) await this.#verifyGzipped(source);
    else for await (const chunk of source) this.#take(chunk);
    this.#end();
    return bytes;
  }

  async #verifyGzipped(source: AsyncGenerator<Uint8Array>): Promise<void> {
    try {
      await pipeline(source, createGunzip(), async (plain: AsyncIterable<Uint8Array>) => {
        for await (const chunk of plain) this.#take(chunk);
      });
    } catch (error: unknown) {
      if (!isCodedAsZlib(error)) throw error;
      this.#complain(`cannot be decompressed: ${error.message}`);
    }
  }

  #take(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      const line = this.#lines[this.#next];
      const inside = line !== undefined && this.#position >= line.offset;
      const until =
        line === undefined ? Number.POSITIVE_INFINITY : inside ? line.offset + line.size : line.offset;
      const length = Math.min(chunk.length - at, until - this.#position);
      const bytes = chunk.subarray(at, at + length);
      if (inside) this.#check(bytes, line);
      else if (this.#expected.frames !== undefined) this.#between.push(Uint8Array.from(bytes));
      else if (line === undefined && this.#expected.tailProblem !== undefined)
        this.#tail.push(Uint8Array.from(bytes));
      at += length;
      this.#position += length;
      this.#close();
    }
  }

  /** A source that the store copied has checksums. Any other member has a digest. */
  #check(bytes: Uint8Array, line: MemberLine): void {
    if (!isCopied(line)) {
      this.#digest.update(bytes);
      return;
    }
    this.#memberSum ??= new SumCheck(line);
    this.#memberSum.add(bytes);
  }

  #isIntact(line: MemberLine): boolean {
    if (!isCopied(line)) return this.#digest.digest('hex') === line.sha256;
    return (this.#memberSum ?? new SumCheck(line)).problem === undefined;
  }

  #end(): void {
    if (this.#next < this.#lines.length)
      this.#complain(`ends before ${quoted(this.#lines[this.#next]?.name ?? '')}`);
    if (this.#sum.problem !== undefined) this.#complain(this.#sum.problem);
    const { frames, tailProblem } = this.#expected;
    const problem = tailProblem?.(Buffer.concat(this.#tail));
    if (problem !== undefined) this.#complain(problem);
    if (frames === undefined) return;
    const expected = Buffer.concat([this.#after(frames, this.#lines.length - 1), frames.end]);
    if (!Buffer.concat(this.#between).equals(expected))
      this.#complain('has other bytes after its last member than its format writes');
  }

  /** The bytes after the member of this number; none for number -1. */
  #after(frames: MemberFrames, number: number): Uint8Array {
    const line = this.#lines[number];
    return line === undefined ? new Uint8Array() : frames.after(line.size);
  }

  #complain(what: string): void {
    this.#expected.complain(what);
  }

  #close(): void {
    const line = this.#lines[this.#next];
    if (line === undefined) return;
    if (this.#position === line.offset) this.#checkBetween(line);
    if (this.#position !== line.offset + line.size) return;
    if (!this.#isIntact(line)) this.#complain(`holds other bytes for ${quoted(line.name)} than were packed`);
    this.#digest = createHash('sha256');
    this.#memberSum = undefined;
    this.#next += 1;
    this.#closeEmpty();
  }

  /** An empty member ends at its first byte. */
  #closeEmpty(): void {
    if (this.#expected.frames === undefined && this.#lines[this.#next]?.offset === this.#position)
      this.#close();
  }

  #checkBetween(line: MemberLine): void {
    const { frames } = this.#expected;
    if (frames !== undefined) {
      const expected = Buffer.concat([
        this.#after(frames, this.#next - 1),
        frames.before(line.name, line.size),
      ]);
      if (!Buffer.concat(this.#between).equals(expected))
        this.#complain(`has a wrong header for ${quoted(line.name)}`);
    }
    this.#between = [];
  }
}
