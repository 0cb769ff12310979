import type { TimelineEntry, TimelineStore } from '../../core/runs/stores.ts';
import { recordOf, type StoredTable } from './table.ts';

export function timelineStore(table: StoredTable): TimelineStore {
  return {
    add: async (runId, entry) => {
      await table.create({ pk: `RUN#${runId}`, sk: `TIMELINE#${entry.id}`, ...entry });
    },
    list: async (runId) =>
      (await table.queryPrefix(`RUN#${runId}`, 'TIMELINE#'))
        .map((item) => recordOf<TimelineEntry>(item))
        .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0)),
  };
}
