import { gunzipSync, gzipSync } from 'node:zlib';
import type { PlacementDecision } from '../../core/runs/run-records.ts';
import type { RunStore, StoredPlacement, TimelineEntry } from '../../core/runs/run-store.ts';
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
      await table.put({ pk: `RUN#${runId}`, sk, attempt, ...packed(decision) });
    },
    listPlacements: async (runId) => (await under(runId, 'PLACEMENT#')).map(unpacked),
    addTimeline: async (runId, entry) => {
      await table.create({ pk: `RUN#${runId}`, sk: `TIMELINE#${entry.id}`, ...entry });
    },
    listTimeline: async (runId) =>
      (await under(runId, 'TIMELINE#'))
        .map((item) => recordOf<TimelineEntry>(item))
        .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0)),
  };
}

/** An item holds 400 KB, of which the table of a decision takes 30; markets of many regions and types can take more. */
const LARGEST_QUESTION = 200_000;

interface PackedItem {
  readonly decision: PlacementDecision;
  /** JSON of the decision's question, gzipped; absent where it is small enough to be read in the table. */
  readonly packedQuestion?: Uint8Array | undefined;
}

function packed({ question, ...rest }: PlacementDecision): PackedItem {
  const text = JSON.stringify(question ?? null);
  return text.length <= LARGEST_QUESTION
    ? { decision: { ...rest, ...(question === undefined ? {} : { question }) } }
    : { decision: rest, packedQuestion: gzipSync(text) };
}

function unpacked(item: Item): StoredPlacement {
  const { packedQuestion, ...placement } = recordOf<StoredPlacement & PackedItem>(item);
  if (packedQuestion === undefined) return placement;
  const question = JSON.parse(gunzipSync(packedQuestion).toString()) as PlacementDecision['question'];
  return { ...placement, decision: { ...placement.decision, question } };
}
