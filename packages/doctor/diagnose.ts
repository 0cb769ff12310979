/**
 * From what was measured of an attempt to what limits it.
 *
 * In: points and phases that the agent wrote. Out: verdicts, the most worthwhile first, and speeds. Unreadable evidence counts as
 * none. Called by the attempts, the records and `tidewheel doctor`.
 */
export { diagnose } from './rules/diagnose.ts';
export type { Evidence, Phases, PricedType } from './rules/evidence.ts';
export { readEvidence } from './rules/read-evidence.ts';
