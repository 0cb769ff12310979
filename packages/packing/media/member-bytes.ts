/** The bytes of a member as far as they are held: all of them, or the first. */
export class MemberBytes {
  readonly #chunks: readonly Uint8Array[];
  /** Of the whole member. */
  readonly size: number;
  readonly held: number;
  /** Where the last slice began: the next one mostly follows it. */
  #last = { chunk: 0, start: 0 };

  constructor(chunks: readonly Uint8Array[], size: number) {
    this.#chunks = chunks;
    this.size = size;
    this.held = chunks.reduce((sum, { length }) => sum + length, 0);
  }

  get isWhole(): boolean {
    return this.held === this.size;
  }

  /** Fewer bytes where no more are held. */
  slice(from: number, to: number): Buffer {
    const parts: Uint8Array[] = [];
    if (from < this.#last.start) this.#last = { chunk: 0, start: 0 };
    let { chunk: index, start } = this.#last;
    for (; index < this.#chunks.length && start < to; index += 1) {
      const chunk = this.#chunks[index] ?? new Uint8Array();
      const end = start + chunk.length;
      if (end > from && parts.length === 0) this.#last = { chunk: index, start };
      if (end > from) parts.push(chunk.subarray(Math.max(0, from - start), to - start));
      start = end;
    }
    const [first] = parts;
    if (first === undefined) return Buffer.alloc(0);
    return parts.length === 1
      ? Buffer.from(first.buffer, first.byteOffset, first.byteLength)
      : Buffer.concat(parts);
  }
}
