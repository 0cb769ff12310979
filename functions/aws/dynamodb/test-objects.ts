import type { TestObjectStore } from '../../core/runs/stores.ts';
import { expires, type Key, recordOf, type StoredTable } from './table.ts';

const keyOf = (id: string): Key => ({ pk: 'TESTOBJECT', sk: id });

export const testObjectStore = (table: StoredTable): TestObjectStore => ({
  setTaken: async (id, at) => {
    await table.put({ ...keyOf(id), at, expires: expires(at, 1) });
  },
  takenAt: async (id) => {
    const item = await table.get(keyOf(id));
    return item && recordOf<{ readonly at: string }>(item).at;
  },
});
