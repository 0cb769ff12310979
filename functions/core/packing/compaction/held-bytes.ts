/** The bytes of one sample, which are written more than once. Read like a ShardReader. */
export class HeldBytes {
  readonly #bytes: Buffer;
  readonly #start: number;
  #at = 0;

  /** @param start position of the first byte in the old shard */
  constructor(bytes: Buffer, start: number) {
    this.#bytes = bytes;
    this.#start = start;
  }

  get position(): number {
    return this.#start + this.#at;
  }

  async *take(length: number): AsyncGenerator<Uint8Array> {
    yield await this.bytes(length);
  }

  async skip(length: number): Promise<void> {
    await this.bytes(length);
  }

  bytes(length: number): Promise<Buffer> {
    const taken = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += taken.length;
    return Promise.resolve(taken);
  }

  /** The shard's own reader compares its checksum. */
  finish(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
