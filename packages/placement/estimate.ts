/**
 * What follows from a declaration alone: gangs, readers, work and money.
 *
 * Called by packing's wiring, checks, plans and reports.
 */

export { fileSystemsOf } from './candidates/file-systems.ts';
export { likelyReaders } from './candidates/likely-readers.ts';
export { measuredThroughputs } from './candidates/throughput-estimate.ts';
export { type GangTopology, gangsOf, topologiesOf, typesOf } from './candidates/topologies.ts';
export { restartOf, workOf } from './decision/gang-cost.ts';
export { estimateWork, hourlyUsdOf, spentUsd, type WorkEstimate } from './decision/work.ts';
