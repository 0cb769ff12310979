/** Deals the sorted arrivals to the items' lists, a window of items at a time so that memory stays bounded. */
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
function place(line: string, { dealing, labelOf }: Dealt, put: (placed: Placed) => void): void {
  const arrival: ArrivalLine = JSON.parse(line);
  const [key, size, etag, ordinal, alone] = arrival;
  if (typeof ordinal === 'string' || ordinal === undefined) return;
  const shard = dealing.shardOf[ordinal] ?? NOWHERE;
  if (shard === NOWHERE) return;
  const label = labelOf?.(ordinal);
  const add = (slot: number, repeat: number): void => {
    const fields = [shard, slot, ordinal, key, size, etag, alone, repeat];
    if (label !== undefined) fields.push(label);
    put({ shard, slot, text: JSON.stringify(fields) });
  };
  add(dealing.slotOf[ordinal] ?? 0, 0);
  const again = dealing.repeats.get(ordinal);
  if (again !== undefined) add(again, 1);
}

export interface Dealt {
  readonly dealing: Dealing;
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
