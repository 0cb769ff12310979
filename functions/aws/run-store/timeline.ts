import type { PlacementDecision } from '../../core/records.ts';
import type { RunStore, TimelineEntry } from '../../core/run-store.ts';
import { type Item, recordOf, type StoredTable } from './table.ts';

type TimelineMethods = Pick<RunStore, 'putPlacement' | 'listPlacements' | 'addTimeline' | 'listTimeline'>;

export function timelineMethods(table: StoredTable): TimelineMethods {
  const under = async (runId: string, prefix: string): Promise<Item[]> =>
    table.query({
      KeyConditionExpression: 'pk = :run AND begins_with(sk, :prefix)',
      ExpressionAttributeValues: { ':run': `RUN#${runId}`, ':prefix': prefix },
      ConsistentRead: true,
    });
  return {
    putPlacement: async (runId, attempt, decision) => {
      const sk = `PLACEMENT#${String(attempt).padStart(4, '0')}`;
      await table.put({ pk: `RUN#${runId}`, sk, attempt, decision });
    },
    listPlacements: async (runId) =>
      (await under(runId, 'PLACEMENT#')).map((item) =>
        recordOf<{ attempt: number; decision: PlacementDecision }>(item),
      ),
    addTimeline: async (runId, entry) => {
      await table.create({ pk: `RUN#${runId}`, sk: `TIMELINE#${entry.id}`, ...entry });
    },
    listTimeline: async (runId) =>
      (await under(runId, 'TIMELINE#'))
        .map((item) => recordOf<TimelineEntry>(item))
        .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0)),
  };
}
