import { gunzipSync, gzipSync } from 'node:zlib';
import * as z from 'zod';
import { placementDecisionSchema, type StoredDecision } from '../../core/placement/placement-records.ts';
import { recordOf } from '../../core/runs/stored-records.ts';
import type { PlacementStore, StoredPlacement } from '../../core/runs/stores.ts';
import { type Key, type StoredTable } from './table.ts';

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
      return item && unpacked(recordOf(packedSchema, item));
    },
    list: async (runId) =>
      (await table.queryPrefix(packedSchema, `RUN#${runId}`, 'PLACEMENT#')).map(unpacked),
  };
}

/** An item holds 400 KB. A decision's table takes 30 KB; markets of many regions and types can exceed the rest. */
const LARGEST_QUESTION = 200_000;

const packedSchema = z.object({
  attempt: z.number().int(),
  decision: placementDecisionSchema,
  question: z.unknown().optional(),
  /** The gzipped JSON of a large question, in its place. */
  packedQuestion: z.instanceof(Uint8Array).optional(),
});
type PackedItem = z.output<typeof packedSchema>;

function packed(attempt: number, { question, ...decision }: StoredDecision): PackedItem {
  const text = JSON.stringify(question);
  return text.length <= LARGEST_QUESTION
    ? { attempt, decision, question }
    : { attempt, decision, packedQuestion: gzipSync(text) };
}

function unpacked({ attempt, decision, packedQuestion, question: plain }: PackedItem): StoredPlacement {
  const question: unknown =
    packedQuestion === undefined ? plain : JSON.parse(gunzipSync(packedQuestion).toString());
  return { attempt, decision: { ...decision, question } };
}
