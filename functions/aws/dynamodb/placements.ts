import { gunzipSync, gzipSync } from 'node:zlib';
import type { PlacementDecision } from '../../core/runs/run-records.ts';
import type { PlacementStore, StoredPlacement } from '../../core/runs/stores.ts';
import { type Item, recordOf, type StoredTable } from './table.ts';

export function placementStore(table: StoredTable): PlacementStore {
  return {
    put: async (runId, attempt, decision) => {
      const sk = `PLACEMENT#${String(attempt).padStart(4, '0')}`;
      await table.put({ pk: `RUN#${runId}`, sk, attempt, ...packed(decision) });
    },
    list: async (runId) => (await table.queryPrefix(`RUN#${runId}`, 'PLACEMENT#')).map(unpacked),
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
