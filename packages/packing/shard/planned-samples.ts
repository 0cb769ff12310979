/**
 * The samples of one shard, from an item's list. Each iteration parses the text again, so that they are never all
 * held.
 */

import { linesOf } from '../documents/compressed-lines.ts';
import { listLine, type PlannedMember, type PlannedSample } from '../documents/documents.ts';

export class PlannedSamples implements Iterable<PlannedSample> {
  readonly #text: string;

  /** @param text lines of one shard, in order. @throws SyntaxError while iterating over a damaged one */
  constructor(text: string) {
    this.#text = text;
  }

  *[Symbol.iterator](): Generator<PlannedSample> {
    let last: (PlannedSample & { members: PlannedMember[] }) | undefined;
    for (const line of linesOf(this.#text)) {
      const [, , ordinal, key, size, etag, alone, repeat, label] = listLine.parse(JSON.parse(line));
      const member = { key, size, etag, alone: alone === 1 };
      if (last?.ordinal === ordinal && last.repeat === repeat) {
        last.members.push(member);
        continue;
      }
      if (last !== undefined) yield last;
      last = { ordinal, repeat, label, members: [member] };
    }
    if (last !== undefined) yield last;
  }
}

/** Cuts an item's list, which is sorted by shard, into its shards. @throws SyntaxError */
export function samplesByShard(text: string): Map<number, PlannedSamples> {
  const shards = new Map<number, PlannedSamples>();
  for (let start = 0; start < text.length; ) {
    const shard = text.slice(start, text.indexOf(',', start) + 1);
    const number = Number(shard.slice(1, -1));
    if (shard === '' || !Number.isInteger(number)) throw new SyntaxError('the list of an item is damaged');
    let end = start;
    while (text.startsWith(shard, end)) {
      const newline = text.indexOf('\n', end);
      if (newline < 0) throw new SyntaxError('the list of an item was cut off');
      end = newline + 1;
    }
    if (shards.has(number)) throw new SyntaxError('the list of an item is not sorted');
    shards.set(number, new PlannedSamples(text.slice(start, end)));
    start = end;
  }
  return shards;
}

/** One sequence with two readers, one ahead of the other. It holds only the values between the two. */
export class Lookahead<T> {
  readonly #source: Iterator<T>;
  /** From `#next` on: what only the reader ahead has seen. */
  #between: T[] = [];
  #next = 0;

  constructor(all: Iterable<T>) {
    this.#source = all[Symbol.iterator]();
  }

  /** The reader ahead. */
  *ahead(): Generator<T> {
    for (let one = this.#source.next(); one.done !== true; one = this.#source.next()) {
      this.#between.push(one.value);
      yield one.value;
    }
  }

  /** The reader behind; undefined at the end. */
  next(): T | undefined {
    if (this.#next === this.#between.length) {
      const one = this.#source.next();
      return one.done === true ? undefined : one.value;
    }
    const value = this.#between[this.#next];
    this.#next += 1;
    if (this.#next >= 64 && this.#next * 2 > this.#between.length) {
      this.#between = this.#between.slice(this.#next);
      this.#next = 0;
    }
    return value;
  }
}
