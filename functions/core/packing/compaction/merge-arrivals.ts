/** Merges the sorted arrivals of several generations. The result holds each arrival, a key with one ETag, once. */

import type { BlobStore } from '../model/blob-store.ts';
import type { Manifest, SealedLine } from '../model/manifest.ts';
import { arrivalOf, compareKeys } from '../model/order.ts';
import type { Rejection } from '../model/rejections.ts';
import { sealedLines } from '../model/sealed-lines.ts';
import type { ArrivalsWriter } from '../seal/audit.ts';
import type { LeftOut } from './left-out.ts';

export interface GenerationArrivals {
  readonly manifest: Manifest;
  /** New shard of each old shard, by their numbers. */
  readonly shardOf: ReadonlyMap<number, number>;
  /** Arrivals of samples that are left out, by `arrivalOf`. */
  readonly leftOut: ReadonlyMap<string, LeftOut>;
}

/** The lines of one generation as the joined generation will hold them, in order. */
async function* linesFrom(
  store: BlobStore,
  { manifest, shardOf, leftOut }: GenerationArrivals,
  newest: string | undefined,
): AsyncGenerator<SealedLine> {
  const mine = manifest.annotations?.version;
  for await (const [key, etag, size, outcome, annotationsVersion] of sealedLines(store, manifest)) {
    if (typeof outcome === 'number') {
      const reason = leftOut.get(arrivalOf(key, etag));
      if (reason === undefined) yield [key, etag, size, shardOf.get(outcome) ?? neverAssigned(key)];
      else if (reason !== 'replaced') yield [key, etag, size, reason];
    } else {
      const last = lastField(outcome, { written: annotationsVersion, mine, newest });
      yield last === undefined ? [key, etag, size, outcome] : [key, etag, size, outcome, last];
    }
  }
}

/** The version of the annotations under which a label was missing, or the ETag of the packed object. */
function lastField(
  outcome: Rejection,
  {
    written,
    mine,
    newest,
  }: {
    readonly written: string | undefined;
    readonly mine: string | undefined;
    readonly newest: string | undefined;
  },
): string | undefined {
  if (outcome === 'unchanged') return written;
  if (outcome !== 'labelMissing' && outcome !== 'labelDoubled') return undefined;
  const version = written ?? mine;
  return version === newest ? undefined : version;
}

function neverAssigned(key: string): never {
  throw new Error(`the shard that holds ${JSON.stringify(key)} was not joined`);
}

const byArrival = (a: SealedLine, b: SealedLine): number =>
  compareKeys(a[0], b[0]) || compareKeys(a[1], b[1]);

interface Cursor {
  readonly lines: AsyncGenerator<SealedLine>;
  readonly age: number;
  line: SealedLine;
}

/**
 * An arrival that was rejected for its label and packed later is in two lists. Packed wins over rejected, and the
 * later of two rejections wins, but a retraction wins over what the same objects were before.
 * @param newest version of the annotations that the joined manifest names
 */
export async function mergeArrivals(
  store: BlobStore,
  writer: ArrivalsWriter,
  { all, newest }: { readonly all: readonly GenerationArrivals[]; readonly newest: string | undefined },
): Promise<number> {
  let written = 0;
  let held: SealedLine | undefined;
  const write = async ([key, etag, size, outcome, annotationsVersion]: SealedLine): Promise<void> => {
    written += 1;
    if (typeof outcome === 'number') await writer.packed([key, etag, size, outcome]);
    else
      await writer.rejected(
        annotationsVersion === undefined
          ? [key, etag, size, outcome]
          : [key, etag, size, outcome, annotationsVersion],
      );
  };
  for await (const { line } of inOrder(all.map((one) => linesFrom(store, one, newest)))) {
    if (held !== undefined && byArrival(held, line) === 0) held = preferred(held, line);
    else {
      if (held !== undefined) await write(held);
      held = line;
    }
  }
  if (held !== undefined) await write(held);
  return written;
}

interface AgedLine {
  readonly line: SealedLine;
  /** Index of its list. */
  readonly age: number;
}

/** The lines of sorted lists as one sorted list. Of equal arrivals, the line of the first list comes first. */
export async function* inOrder(all: readonly AsyncGenerator<SealedLine>[]): AsyncGenerator<AgedLine> {
  const open: Cursor[] = [];
  for (const [age, lines] of all.entries()) {
    const first = await lines.next();
    if (first.done !== true) open.push({ lines, age, line: first.value });
  }
  const heap = new Heap(open);
  for (let least = heap.least(); least !== undefined; least = heap.least()) {
    yield { line: least.line, age: least.age };
    await step(heap, least);
  }
}

/** @param second the line of the later generation */
function preferred(first: SealedLine, second: SealedLine): SealedLine {
  if (typeof first[3] === 'number' && typeof second[3] === 'number')
    throw new Error(`${JSON.stringify(first[0])} of ETag ${first[1]} is packed in two generations`);
  return typeof first[3] === 'number' || first[3] === 'retracted' ? first : second;
}

async function step(heap: Heap, cursor: Cursor): Promise<void> {
  const next = await cursor.lines.next();
  if (next.done === true) heap.drop();
  else {
    cursor.line = next.value;
    heap.sink();
  }
}

/** A binary heap. The first is the least arrival; of equal arrivals, that of the oldest generation. */
class Heap {
  readonly #cursors: Cursor[];

  constructor(cursors: readonly Cursor[]) {
    this.#cursors = cursors.toSorted(before);
  }

  least(): Cursor | undefined {
    return this.#cursors[0];
  }

  drop(): void {
    const last = this.#cursors.pop();
    if (last === undefined || this.#cursors.length === 0) return;
    this.#cursors[0] = last;
    this.sink();
  }

  /** Moves the first to its place. */
  sink(): void {
    const all = this.#cursors;
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let least = at;
      for (const child of [left, right]) {
        const [one, other] = [all[child], all[least]];
        if (one !== undefined && other !== undefined && before(one, other) < 0) least = child;
      }
      const [parent, child] = [all[at], all[least]];
      if (least === at || parent === undefined || child === undefined) return;
      all[at] = child;
      all[least] = parent;
      at = least;
    }
  }
}

const before = (a: Cursor, b: Cursor): number => byArrival(a.line, b.line) || a.age - b.age;
