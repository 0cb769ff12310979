/**
 * The items' lists: the sorted arrivals of their shards. A plan writes them, a window of items at a time, so that memory
 * is bounded. A worker reads the samples of one shard, and parses the text in each iteration, so that they are never all
 * held.
 */

import { type CompressedLines, compressPlanned, LineBuffer, linesOf } from '../documents/compressed-lines.ts';
import { listLine, type PlannedMember, type PlannedSample } from '../documents/documents.ts';
import { NO_SHARD } from '../documents/shard-count.ts';
import type { ShardAssignment } from './assign-samples.ts';
import { copiesOf } from './balance.ts';

/** Characters of the lists held at once, with an overhead for each line. */
const WINDOW_CHARACTERS = 96e6;
/** Overhead of a line: fields that an arrival's line does not have, and the objects that hold it. */
const CHARACTERS_BESIDE = 100;

/**
 * One item's lines as they come, with their places. It holds numbers and bytes, which garbage collection does not
 * copy.
 */
class UnsortedList {
  readonly #text = new LineBuffer();
  readonly #shards: number[] = [];
  readonly #slots: number[] = [];
  readonly #ends: number[] = [];

  add(shard: number, slot: number, line: string): void {
    this.#text.add(line);
    this.#shards.push(shard);
    this.#slots.push(slot);
    this.#ends.push(this.#text.length);
  }

  /** The lines sorted by shard and slot. Lines of one slot stay in their order. */
  sorted(): Buffer {
    const [shards, slots, ends, from] = [this.#shards, this.#slots, this.#ends, this.#text.bytes];
    const order = Uint32Array.from(ends, (_, line) => line).sort(
      (a, b) => (shards[a] ?? 0) - (shards[b] ?? 0) || (slots[a] ?? 0) - (slots[b] ?? 0) || a - b,
    );
    const sorted = Buffer.allocUnsafeSlow(from.length);
    let at = 0;
    for (const line of order) at += from.copy(sorted, at, line === 0 ? 0 : ends[line - 1], ends[line]);
    return sorted;
  }
}

function itemOfShard(itemShards: readonly number[]): Uint32Array {
  const items = new Uint32Array(itemShards[itemShards.length - 1] ?? 0);
  for (let item = 0; item < itemShards.length - 1; item += 1)
    items.fill(item, itemShards[item], itemShards[item + 1]);
  return items;
}

/** Copies key, bytes and ETag as text. This process wrote the arrival's line, so it is not parsed. */
function putLines(
  { ordinal, object, alone }: PlannedArrival,
  { assignment, samples, copies, labelOf }: AssignedSamples,
  put: (shard: number, slot: number, line: string) => void,
): void {
  if ((assignment.shardOf[ordinal] ?? NO_SHARD) === NO_SHARD) return;
  const label = labelOf?.(ordinal);
  const end = label === undefined ? ']' : `,${JSON.stringify(label)}]`;
  const add = (shard: number, slot: number, repeat: number): void =>
    put(shard, slot, `[${shard},${slot},${ordinal},${object},${alone},${repeat}${end}`);
  const { first, count } = copiesOf(copies, ordinal);
  for (let copy = 0; copy <= count; copy += 1)
    putCopy(assignment, { at: copy === 0 ? ordinal : samples + first + copy - 1, copy }, add);
}

/** Adds a sample, or a copy that balances the classes, and the copy of it that evens out its shard. */
function putCopy(
  assignment: ShardAssignment,
  { at, copy }: { at: number; copy: number },
  add: (shard: number, slot: number, repeat: number) => void,
): void {
  const shard = assignment.shardOf[at] ?? NO_SHARD;
  add(shard, assignment.slotOf[at] ?? 0, copy === 0 ? 0 : copy + 1);
  const again = assignment.repeats.get(at);
  if (again !== undefined) add(shard, again, copy === 0 ? 1 : COPIES_OF_COPIES + copy);
}

/** Numbers of copies of a copy, which even out a shard: above those that balance the classes. */
const COPIES_OF_COPIES = 100_000;

export interface AssignedSamples {
  /** The samples come first, and then the copies that balance the classes. */
  readonly assignment: ShardAssignment;
  readonly samples: number;
  readonly copies: Uint32Array;
  /** A sample's label from a file of annotations. */
  readonly labelOf?: ((ordinal: number) => string | undefined) | undefined;
}

export interface ItemList {
  readonly item: number;
  readonly bytes: Buffer;
}

/** An ArrivalLine, cut and not parsed. */
interface PlannedArrival {
  /** NaN for a rejected arrival. */
  readonly ordinal: number;
  /** Text of key, bytes and ETag. */
  readonly object: string;
  /** 0 or 1. */
  readonly alone: string;
}

/** The last two fields, ETag and rejection or two numbers, hold no comma. */
function cut(line: string): PlannedArrival {
  const second = line.lastIndexOf(',');
  const first = line.lastIndexOf(',', second - 1);
  return {
    ordinal: Number(line.slice(first + 1, second)),
    object: line.slice(1, first),
    alone: line.slice(second + 1, -1),
  };
}

/** Number of lines of all lists: samples and their copies. */
function linesOfLists({ shardOf, repeats }: ShardAssignment): number {
  let lines = repeats.size;
  for (const shard of shardOf) if (shard !== NO_SHARD) lines += 1;
  return lines;
}

/** How many windows are needed so that each stays below the limit. */
function windowsFor(
  arrivals: CompressedLines,
  assignment: ShardAssignment,
  windowCharacters: number,
): number {
  const perLine = arrivals.characters / Math.max(1, arrivals.lines) + CHARACTERS_BESIDE;
  return Math.max(1, Math.ceil((linesOfLists(assignment) * perLine) / windowCharacters));
}

/** Whether the sample or a copy of it is in one of these shards. */
function isWithin(
  { assignment, samples, copies }: AssignedSamples,
  ordinal: number,
  isMine: (shard: number) => boolean,
): boolean {
  if (isMine(assignment.shardOf[ordinal] ?? NO_SHARD)) return true;
  const { first, count } = copiesOf(copies, ordinal);
  for (let copy = 0; copy < count; copy += 1)
    if (isMine(assignment.shardOf[samples + first + copy] ?? NO_SHARD)) return true;
  return false;
}

/** Every item's compressed list, in the order of items. Reads the arrivals once for each window. */
export function* itemLists(
  arrivals: CompressedLines,
  assigned: AssignedSamples,
  windowCharacters = WINDOW_CHARACTERS,
): Generator<ItemList> {
  const { assignment } = assigned;
  const items = assignment.itemShards.length - 1;
  if (items <= 0) return;
  const itemOf = itemOfShard(assignment.itemShards);
  const windows = windowsFor(arrivals, assignment, windowCharacters);
  const perWindow = Math.ceil(items / windows);
  for (let first = 0; first < items; first += perWindow) {
    const end = Math.min(items, first + perWindow);
    const lists = Array.from({ length: end - first }, () => new UnsortedList());
    const isMine = (shard: number): boolean => {
      const item = itemOf[shard] ?? items;
      return item >= first && item < end;
    };
    for (const line of arrivals.read()) {
      const arrival = cut(line);
      if (!isWithin(assigned, arrival.ordinal, isMine)) continue;
      putLines(arrival, assigned, (shard, slot, text) =>
        lists[(itemOf[shard] ?? 0) - first]?.add(shard, slot, text),
      );
    }
    for (const [index, list] of lists.entries()) {
      yield { item: first + index, bytes: compressPlanned(list.sorted()) };
    }
  }
}

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
