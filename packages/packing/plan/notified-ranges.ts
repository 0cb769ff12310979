/**
 * Which ranges of a large folder a run lists: those that hold a key of a notification since the last sealed plan, and all
 * behind the last known key. A whole range is listed, so an object whose own notification is late is found beside its
 * neighbour's.
 */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import * as z from 'zod';
import { type BlobStore, type ListedBlob, listPages, readText } from '../documents/blob-store.ts';
import { compareKeys } from '../documents/order.ts';
import { belongsTo, isUnknown, type KnownRanges, type ListedRange } from './listed-ranges.ts';

/** Functions that run since before the first note may not know yet that notes are kept. */
const BEFORE_NOTES_SECONDS = 15 * 60;
/** A note's time is that of the beginning of its upload, and the clocks of S3's servers differ. */
const CLOCK_SECONDS = 60;
/** A LIST request costs as much as twelve GETs, so with more notes than this a listing of everything is cheaper. */
const NOTES_A_RANGE = 12;
/** Read in minutes. */
const MOST_NOTES = 50_000;
/** An older plan says too little of today's folder. */
const OLDEST_PLAN_SECONDS = 3 * 86_400;
const FEW_RANGES = 16;
/** Ranges that are read at once. */
const READERS = 16;

export interface NotifiedRanges {
  /** Indexes of known ranges, in order. The one behind the last stands for all further keys. */
  readonly ranges: readonly number[];
  /** When the notes were listed, ISO 8601. */
  readonly at: string;
}

interface Asking {
  readonly store: BlobStore;
  readonly now: () => Date;
}

const notesSchema = z.array(z.string());

/**
 * Deletes the notes that the last sealed plan has taken.
 * @param since when the keys of each notification began to be noted, ISO 8601
 * @returns undefined where the notes may not be all, so that the whole folder has to be listed
 */
export async function notifiedRanges(
  { store, now }: Asking,
  pipeline: string,
  { known, since }: { readonly known: KnownRanges; readonly since: string },
): Promise<NotifiedRanges | undefined> {
  if (known.at === undefined || known.ranges.length === 0) return undefined;
  const plannedAt = Date.parse(known.at);
  if (plannedAt < Date.parse(since) + BEFORE_NOTES_SECONDS * 1_000) return undefined;
  if (now().getTime() - plannedAt > OLDEST_PLAN_SECONDS * 1_000) return undefined;
  const { notes, at } = await listNotes(store, pipeline, now);
  const isTaken = ({ lastModified }: ListedBlob): boolean =>
    Date.parse(lastModified) < plannedAt - CLOCK_SECONDS * 1_000;
  const left = notes.filter((note) => !isTaken(note));
  await store.deleteMany(notes.filter(isTaken).map(({ key }) => key));
  if (left.length > Math.min(MOST_NOTES, NOTES_A_RANGE * known.ranges.length)) return undefined;
  const touched = new Set([known.ranges.length]);
  for (const [index, range] of known.ranges.entries()) if (isUnknown(range)) touched.add(index);
  for await (const [, keys] of readAhead(left, (note) => readNote(store, note))) {
    if (keys === undefined) return undefined;
    for (const range of keys.flatMap((key) => rangesOf(known.ranges, key))) touched.add(range);
  }
  // A range takes one request or two, and a listing of everything one for a thousand keys.
  if (touched.size > Math.max(FEW_RANGES, known.ranges.length / 2)) return undefined;
  return { ranges: [...touched].sort((a, b) => a - b), at };
}

async function listNotes(
  store: BlobStore,
  pipeline: string,
  now: () => Date,
): Promise<{ readonly notes: readonly ListedBlob[]; readonly at: string }> {
  const notes: ListedBlob[] = [];
  let at: number | undefined;
  for await (const page of listPages(store, bucketKeys.notified(pipeline))) {
    at ??= page.serverTime ?? now().getTime();
    notes.push(...page.objects);
  }
  return { notes, at: new Date(at ?? now().getTime()).toISOString() };
}

async function readNote(store: BlobStore, { key }: ListedBlob): Promise<readonly string[] | undefined> {
  return notesSchema.safeParse(parseJson((await readText(store, key)) ?? '')).data;
}

/** The key's range, and the one before if that ends with an object of the same sample. */
function rangesOf(ranges: readonly ListedRange[], key: string): number[] {
  const range = rangeOf(ranges, key);
  const before = ranges[range - 1];
  return before !== undefined && belongsTo(key, before.last) ? [range - 1, range] : [range];
}

/** Index of the first range that ends at the key or behind it. */
function rangeOf(ranges: readonly ListedRange[], key: string): number {
  let [low, high] = [0, ranges.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(ranges[middle]?.last ?? '', key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The objects of each of these ranges, in order. */
export const listRanges = (
  store: BlobStore,
  prefix: string,
  { known, ranges }: { readonly known: readonly ListedRange[]; readonly ranges: readonly number[] },
): AsyncGenerator<readonly [number, readonly ListedBlob[]]> =>
  readAhead(ranges, (index) => listRange(store, prefix, known[index - 1]?.last, known[index]?.last));

async function listRange(
  store: BlobStore,
  prefix: string,
  startAfter: string | undefined,
  last: string | undefined,
): Promise<readonly ListedBlob[]> {
  const found: ListedBlob[] = [];
  for await (const { objects } of listPages(store, prefix, startAfter === undefined ? {} : { startAfter })) {
    for (const object of objects) {
      if (last !== undefined && compareKeys(object.key, last) > 0) return found;
      found.push(object);
    }
  }
  return found;
}

/** Reads up to sixteen at once and yields in order. */
async function* readAhead<Item, Value>(
  items: readonly Item[],
  read: (item: Item) => Promise<Value>,
): AsyncGenerator<readonly [Item, Value]> {
  const reading: { readonly item: Item; readonly value: Promise<Value> }[] = [];
  let next = 0;
  try {
    while (next < items.length || reading.length > 0) {
      for (const item of items.slice(next, next + READERS - reading.length)) {
        const value = read(item);
        // A failure is thrown when its turn comes.
        value.catch(() => undefined);
        reading.push({ item, value });
        next += 1;
      }
      const first = reading.shift();
      if (first !== undefined) yield [first.item, await first.value];
    }
  } finally {
    await Promise.allSettled(reading.map(({ value }) => value));
  }
}
