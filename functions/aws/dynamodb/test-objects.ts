import * as z from 'zod';
import { recordOf } from '../../core/runs/stored-records.ts';
import type { TestObjectStore } from '../../core/runs/stores.ts';
import { time } from '../../core/shared/fields.ts';
import { expires, type Key, type StoredTable } from './table.ts';

const takenSchema = z.object({ at: time });
const keyOf = (id: string): Key => ({ pk: 'TESTOBJECT', sk: id });

export const testObjectStore = (table: StoredTable): TestObjectStore => ({
  setTaken: async (id, at) => {
    await table.put({ ...keyOf(id), at, expires: expires(at, 1) });
  },
  takenAt: async (id) => {
    const item = await table.get(keyOf(id));
    return item && recordOf(takenSchema, item).at;
  },
});
