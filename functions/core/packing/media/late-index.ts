/** The index of a movie (`moov`) that lies behind the first bytes, which alone are held of a large member. */
import type { MediaFacts } from '../model/documents.ts';
import { HeldBytes } from './held-bytes.ts';
import { HEAD_BYTES, SOUNDS } from './media-facts.ts';
import { indexPlace, mayHaveVideo, movieFacts } from './movie-length.ts';
import { isMovie } from './sound-length.ts';

/** Most bytes of a movie's index that are read for it, or held of what is streamed. */
const MOST_INDEX_BYTES = 1024 * 1024;

/** A movie of which the first bytes are held, and its index lies behind them. */
export class LateIndex {
  readonly #head: HeldBytes;
  /** Its first byte in the member, as far as the boxes before it tell. */
  readonly offset: number;
  readonly length: number;

  /** @param head the first bytes, up to HEAD_BYTES @returns undefined if there is no such index */
  static of(name: string, head: readonly Uint8Array[], size: number): LateIndex | undefined {
    if (!SOUNDS.test(name)) return undefined;
    const held = new HeldBytes(head, size);
    const offset = isMovie(held) ? indexPlace(held) : undefined;
    return offset === undefined ? undefined : new LateIndex(held, offset);
  }

  private constructor(head: HeldBytes, offset: number) {
    this.#head = head;
    this.offset = offset;
    this.length = Math.min(head.size - offset, MOST_INDEX_BYTES);
  }

  /** @param bytes from the offset on */
  facts(bytes: readonly Uint8Array[]): MediaFacts | undefined {
    return movieFacts(new HeldBytes(bytes, this.#head.size - this.offset), mayHaveVideo(this.#head));
  }
}

/** The first bytes of a member that is read while it is written and, of a movie, those of its index. */
export class StreamedHead {
  readonly #name: string;
  readonly #size: number;
  readonly head: Uint8Array[] = [];
  #position = 0;
  #late: LateIndex | undefined;
  readonly #index: Uint8Array[] = [];

  constructor(name: string, size: number) {
    this.#name = name;
    this.#size = size;
  }

  /** Copies what it keeps, because the chunk's memory is used again. */
  add(chunk: Uint8Array): void {
    const [from, to] = [this.#position, this.#position + chunk.length];
    this.#position = to;
    if (from < HEAD_BYTES) this.head.push(copied(chunk, 0, HEAD_BYTES - from));
    if (from < HEAD_BYTES && to >= HEAD_BYTES) this.#look();
    if (this.#late === undefined || to <= HEAD_BYTES) return;
    const { offset, length } = this.#late;
    const [first, end] = [Math.max(offset, HEAD_BYTES, from), Math.min(offset + length, to)];
    if (first < end) this.#index.push(copied(chunk, first - from, end - from));
  }

  /** The index may begin with the last bytes of the head. */
  #look(): void {
    this.#late = LateIndex.of(this.#name, this.head, this.#size);
    if (this.#late === undefined || this.#late.offset >= HEAD_BYTES) return;
    this.#index.push(Buffer.concat(this.head).subarray(this.#late.offset));
  }

  /** Undefined if there was no such index. */
  get indexFacts(): MediaFacts | undefined {
    return this.#late?.facts(this.#index);
  }
}

/** A Buffer's own slice() makes no copy. */
const copied = (chunk: Uint8Array, from: number, to: number): Uint8Array =>
  Uint8Array.prototype.slice.call(chunk, from, to);
