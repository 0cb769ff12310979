/** One kind of record of the table, as items. Reads are parsed as in the adapter, once for each write. */
import type * as z from 'zod';
import { type Item, RECORDS, readable, recordOf } from '../../../functions/records/stored-records.ts';
import type { Tell } from '../../../functions/records/stores.ts';

/** What a database does to a record: it is copied, and what is undefined is not there. */
export function stored<T>(value: T): T {
  const copy: T = JSON.parse(JSON.stringify(value));
  return copy;
}

export class Records<Schema extends z.ZodType<object>> {
  readonly #items = new Map<string, Item>();
  readonly #parsed = new WeakMap<Item, z.output<Schema>>();
  readonly #schema: Schema;
  readonly #name: string;

  constructor(schema: Schema, name: string) {
    this.#schema = schema;
    this.#name = name;
  }

  ids(): Iterable<string> {
    return this.#items.keys();
  }

  has(id: string): boolean {
    return this.#items.has(id);
  }

  /** @throws UnreadableRecordError */
  get(id: string): z.output<Schema> | undefined {
    const item = this.#items.get(id);
    return item && (this.#parsed.get(item) ?? this.#keep(item, recordOf(this.#schema, item)));
  }

  #keep(item: Item, record: z.output<Schema>): z.output<Schema> {
    this.#parsed.set(item, record);
    return record;
  }

  /** As an index finds it, whatever else the item holds. */
  find(field: string, value: string): z.output<Schema> | undefined {
    const [id] = [...this.#items].find(([, item]) => item[field] === value) ?? [];
    return id === undefined ? undefined : this.get(id);
  }

  set(id: string, record: z.output<Schema>): void {
    const key = { pk: `${this.#name}#${id.split(' ')[0]}`, sk: this.#name, version: RECORDS.version };
    this.#items.set(id, { ...stored(record), ...key });
  }

  rewrite(id: string, change: (item: Item) => Item): void {
    this.#items.set(id, change(this.#items.get(id) ?? {}));
  }

  list(tell: Tell | undefined, ids: Iterable<string> = this.#items.keys()): z.output<Schema>[] {
    return [...ids].flatMap((id) => {
      const item = this.#items.get(id) ?? {};
      const kept = this.#parsed.get(item);
      return kept ? [kept] : readable(this.#schema, item, tell).map((record) => this.#keep(item, record));
    });
  }

  clear(): void {
    this.#items.clear();
  }
}

/** Whole at once: nothing else runs between the read and the write. */
export const answer = <T>(act: () => T): Promise<T> =>
  new Promise((resolve) => {
    const value = act();
    resolve(value === undefined ? value : stored(value));
  });
export const nothing = <T>(value: T | undefined): Promise<T | undefined> =>
  Promise.resolve(value === undefined ? undefined : stored(value));

export async function put<T>(map: Map<string, T>, key: string, value: T): Promise<void> {
  map.set(key, stored(value));
  await Promise.resolve();
}
