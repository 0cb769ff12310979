/**
 * Packs many small generations again as one.
 *
 * Called by the three functions of compaction and `tidewheel data compact`.
 */

export { type Compacted, compact } from './compaction/compact.ts';
export { packCompaction } from './compaction/compact-shards.ts';
export {
  type CompactionInput,
  chooseCompaction,
  compactionItemSchema,
  compactionWanted,
  mayCompact,
  NOTHING_TO_COMPACT,
  planCompaction,
  readCompactionPlan,
} from './compaction/plan-compaction.ts';
export { planDrawing } from './compaction/plan-drawing.ts';
export { type CompactionResult, sealCompaction } from './compaction/seal-compaction.ts';
