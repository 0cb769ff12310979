import { gunzipSync, gzipSync } from 'node:zlib';
import type { PlacementDecision, StoredDecision } from '../../core/runs/placement-records.ts';
import type { PlacementStore, StoredPlacement } from '../../core/runs/stores.ts';
import { type Item, type Key, recordOf, type StoredTable } from './table.ts';

export function placementStore(table: StoredTable): PlacementStore {
  const keyOf = (runId: string, attempt: number): Key => ({
    pk: `RUN#${runId}`,
    sk: `PLACEMENT#${String(attempt).padStart(4, '0')}`,
  });
  return {
    put: async (runId, attempt, decision) => {
      await table.put({ ...keyOf(runId, attempt), ...packed(attempt, decision) });
    },
    get: async (runId, attempt) => {
      const item = await table.get(keyOf(runId, attempt));
      return item && unpacked(item);
    },
    list: async (runId) => (await table.queryPrefix(`RUN#${runId}`, 'PLACEMENT#')).map(unpacked),
  };
}

/** An item holds 400 KB. A decision's table takes 30 KB; markets of many regions and types can exceed the rest. */
const LARGEST_QUESTION = 200_000;

type PackedItem = Pick<StoredPlacement, 'attempt'> & { readonly decision: PlacementDecision } & (
    | { readonly question: unknown }
    /** The gzipped JSON of a large question. */
    | { readonly packedQuestion: Uint8Array }
  );

function packed(attempt: number, { question, ...decision }: StoredDecision): PackedItem {
  const text = JSON.stringify(question);
  return text.length <= LARGEST_QUESTION
    ? { attempt, decision, question }
    : { attempt, decision, packedQuestion: gzipSync(text) };
}

function unpacked(item: Item): StoredPlacement {
  const { attempt, decision, ...rest } = recordOf<PackedItem>(item);
  const question: unknown =
    'packedQuestion' in rest ? JSON.parse(gunzipSync(rest.packedQuestion).toString()) : rest.question;
  return { attempt, decision: { ...decision, question } };
}
