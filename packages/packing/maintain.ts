/**
 * Deletes, prunes, verifies and repairs what was packed.
 *
 * Called by `delete-packed` and `tidewheel data`.
 */
export { deletePacked } from './seal/delete-packed.ts';
export {
  type RetractedMember,
  RetractedObjects,
  type RetractionReport,
  retractedObjects,
} from './verify/retracted-members.ts';
export { type VerifyReport, verifyGeneration } from './verify/verify.ts';
export { type PruneRequest, pruneGenerations, unfinishedRuns } from './versions/prune-generations.ts';
export { giveUpGeneration, type RepairRequest, repairGeneration } from './versions/repair-generation.ts';
