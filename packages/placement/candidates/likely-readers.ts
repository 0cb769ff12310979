/** The likely readers of the shards packed now: the processes of every topology that the declaration allows. */

import { instanceFacts } from '@tidewheel/catalog/catalog.ts';
import { strategyTraits } from '@tidewheel/declaration/launchers.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { LikelyReaders } from '@tidewheel/packing/plan.ts';
import { gangsOf } from './topologies.ts';

const greatestDivisor = (a: number, b: number): number => (b === 0 ? a : greatestDivisor(b, a % b));

/** How much larger than the largest number a common multiple may be. */
const MOST_MULTIPLE = 4;

/**
 * Pure, from the release's own catalog, so that every planner of a run computes the same. A type that the catalog does
 * not know counts as one process.
 */
export function likelyReaders({ training, compute }: Pick<Pipeline, 'training' | 'compute'>): LikelyReaders {
  const hasProcesses = strategyTraits[training.strategy].processes === 'perAccelerator';
  const declared = hasProcesses ? training.processesPerHost : undefined;
  const worlds = gangsOf(compute).flatMap(({ nodes, instanceTypes }) =>
    instanceTypes.map(
      (type) => nodes * (declared ?? Math.max(1, instanceFacts(type)?.acceleratorCount ?? 0)),
    ),
  );
  const largest = Math.max(1, ...worlds);
  const common = worlds.reduce((multiple, world) => (multiple / greatestDivisor(multiple, world)) * world, 1);
  // In a job with helpers, the helpers read.
  const helpers = (compute.helpers ?? []).reduce((sum, { nodes }) => sum + nodes, 0);
  return {
    processes: Math.max(largest, helpers),
    multipleOf: common <= largest * MOST_MULTIPLE ? common : largest,
  };
}
