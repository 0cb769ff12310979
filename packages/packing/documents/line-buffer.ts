/**
 * Lines as the bytes that will be written. A long list of strings outlives V8's young heap, which copies it twice, and
 * stays in the old heap until the next collection. That was a third of all bytes copied (docs/research/benchmarks.md).
 */
const FIRST_BYTES = 4 * 1024;
/** A UTF-16 unit takes up to three bytes in UTF-8. */
const MOST_BYTES_PER_CHARACTER = 3;
const NEWLINE = 0x0a;

export class LineBuffer {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #length = 0;
  #lines = 0;

  get lines(): number {
    return this.#lines;
  }

  /** All lines so far, each with its newline; valid until the next `add` or `clear`. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  get length(): number {
    return this.#length;
  }

  /** @param line without its newline */
  add(line: string): void {
    const needed = this.#length + line.length * MOST_BYTES_PER_CHARACTER + 1;
    if (needed > this.#bytes.length) this.#grow(needed);
    this.#length += this.#bytes.write(line, this.#length, 'utf8');
    this.#bytes[this.#length] = NEWLINE;
    this.#length += 1;
    this.#lines += 1;
  }

  /** Keeps the memory for the next lines. */
  clear(): void {
    this.#length = 0;
    this.#lines = 0;
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, needed));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

/** JSON leaves them as they are, but Python's `splitlines` and other readers end a line there. */
const LINE_ENDS = /[\u0085\u2028\u2029]/g;

/** A line of a list: JSON that every reader of lines keeps whole. */
export function jsonLine(value: unknown): string {
  const text = JSON.stringify(value);
  return text.replace(LINE_ENDS, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
