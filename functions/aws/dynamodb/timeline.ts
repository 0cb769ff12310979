import { timelineEntrySchema } from '../../core/runs/run-records.ts';
import type { TimelineStore } from '../../core/runs/stores.ts';
import type { StoredTable } from './table.ts';

export function timelineStore(table: StoredTable): TimelineStore {
  return {
    add: async (runId, entry) => {
      await table.create({ pk: `RUN#${runId}`, sk: `TIMELINE#${entry.id}`, ...entry });
    },
    list: async (runId) =>
      (await table.queryPrefix(timelineEntrySchema, `RUN#${runId}`, 'TIMELINE#')).sort((a, b) =>
        a.at < b.at ? -1 : a.at > b.at ? 1 : 0,
      ),
  };
}
