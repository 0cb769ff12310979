/** Deals the sorted arrivals to the items' lists, a window of items at a time so that memory stays bounded. */
import { copiesOf } from './balance.ts';
import type { ArrivalLine } from './records.ts';
import { type Dealing, NOWHERE } from './sharding.ts';
import { compress, type LineSpool } from './spool.ts';

/** Text of the lists held at once, in characters. */
const WINDOW_CHARACTERS = 64e6;

interface Placed {
  readonly shard: number;
  readonly slot: number;
  readonly text: string;
}

const byPlace = (a: Placed, b: Placed): number => a.shard - b.shard || a.slot - b.slot;

function itemOfShard(itemShards: readonly number[]): Uint32Array {
  const items = new Uint32Array(itemShards[itemShards.length - 1] ?? 0);
  for (let item = 0; item < itemShards.length - 1; item += 1)
    items.fill(item, itemShards[item], itemShards[item + 1]);
  return items;
}

/** The spool is our own, of this process: its lines need no proof. */
function place(
  line: string,
  { dealing, samples, copies, labelOf }: Dealt,
  put: (placed: Placed) => void,
): void {
  const arrival: ArrivalLine = JSON.parse(line);
  const [key, size, etag, ordinal, alone] = arrival;
  if (typeof ordinal === 'string' || ordinal === undefined) return;
  if ((dealing.shardOf[ordinal] ?? NOWHERE) === NOWHERE) return;
  const label = labelOf?.(ordinal);
  const add = (shard: number, slot: number, repeat: number): void => {
    const fields = [shard, slot, ordinal, key, size, etag, alone, repeat];
    if (label !== undefined) fields.push(label);
    put({ shard, slot, text: JSON.stringify(fields) });
  };
  const { first, count } = copiesOf(copies, ordinal);
  for (let copy = 0; copy <= count; copy += 1)
    placeCopy(dealing, { at: copy === 0 ? ordinal : samples + first + copy - 1, copy }, add);
}

/** A sample or a copy that balances the classes, and what evens out its shard. */
function placeCopy(
  dealing: Dealing,
  { at, copy }: { at: number; copy: number },
  add: (shard: number, slot: number, repeat: number) => void,
): void {
  const shard = dealing.shardOf[at] ?? NOWHERE;
  add(shard, dealing.slotOf[at] ?? 0, copy === 0 ? 0 : copy + 1);
  const again = dealing.repeats.get(at);
  if (again !== undefined) add(shard, again, copy === 0 ? 1 : COPIES_OF_COPIES + copy);
}

/** Numbers of copies that even out a shard in which a copy came first: above all that balance the classes. */
const COPIES_OF_COPIES = 100_000;

export interface Dealt {
  /** Samples, and after them the copies that balance the classes. */
  readonly dealing: Dealing;
  readonly samples: number;
  readonly copies: Uint32Array;
  /** Label of a sample, where a file of annotations gives it. */
  readonly labelOf?: ((ordinal: number) => string | undefined) | undefined;
}

export interface ItemList {
  readonly item: number;
  readonly bytes: Buffer;
}

/** Every item's list, compressed, in the order of items. Reads the arrivals once per window. */
export function* itemLists(
  arrivals: LineSpool,
  dealt: Dealt,
  windowCharacters = WINDOW_CHARACTERS,
): Generator<ItemList> {
  const { dealing } = dealt;
  const items = dealing.itemShards.length - 1;
  if (items <= 0) return;
  const itemOf = itemOfShard(dealing.itemShards);
  const windows = Math.max(1, Math.ceil(arrivals.characters / windowCharacters));
  const perWindow = Math.ceil(items / windows);
  for (let first = 0; first < items; first += perWindow) {
    const end = Math.min(items, first + perWindow);
    const lists: Placed[][] = Array.from({ length: end - first }, () => []);
    for (const line of arrivals.read()) {
      place(line, dealt, (one) => lists[(itemOf[one.shard] ?? 0) - first]?.push(one));
    }
    for (const [index, list] of lists.entries()) {
      const text = list.sort(byPlace).map((one) => one.text);
      yield { item: first + index, bytes: compress(`${text.join('\n')}\n`) };
    }
  }
}
