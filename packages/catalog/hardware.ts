/**
 * What EC2 answered about its types, beside the snapshot.
 *
 * In: stored facts, or EC2's answers. Out: a lookup that prefers them, or a renewed snapshot. Called by placement, the
 * market's adapters, the table and `catalog:refresh`.
 */
export {
  factsWith,
  type Hardware,
  hardwareSchema,
  keepRead,
  type ReadFacts,
  readAnswer,
} from './facts/hardware.ts';
export {
  type EfaTable,
  type InstanceTable,
  instanceTableText,
  refreshSnapshot,
} from './facts/refresh-snapshot.ts';
