/** The member list of a shard that is being packed. */
import { hash } from 'node:crypto';
import type { MemberLine, PreparedTotals } from '../model/documents.ts';
import { LineText } from '../model/line-text.ts';

export class MemberList {
  readonly #text = new LineText();
  readonly #prepared = { images: 0, sourceBytes: 0, bytes: 0 };

  get members(): number {
    return this.#text.lines;
  }

  /** As it is stored, before compression. */
  get bytes(): Buffer {
    return this.#text.bytes;
  }

  get sha256(): string {
    return hash('sha256', this.#text.bytes);
  }

  add(line: MemberLine): void {
    this.#text.add(JSON.stringify(line));
    const { source, size, repeat } = line;
    if (source === undefined || repeat !== undefined) return;
    this.#prepared.images += 1;
    this.#prepared.sourceBytes += source.size;
    this.#prepared.bytes += size;
  }

  /** What was read and what became of it, copies aside. */
  preparedBy(engines: readonly string[]): PreparedTotals {
    return { by: [...engines], ...this.#prepared };
  }
}
