/**
 * What EC2 answered about its types, beside the snapshot.
 *
 * In: stored facts. Out: a lookup that prefers them. Called by placement, the market's adapters and the table.
 */
export {
  factsWith,
  type Hardware,
  hardwareSchema,
  keepRead,
  type ReadFacts,
  readAnswer,
} from './facts/hardware.ts';
