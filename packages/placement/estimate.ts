/**
 * What follows from a declaration: gangs, readers, work and money; and the forecast of a run's end and cost, which
 * nothing else computes.
 *
 * Called by packing's wiring, checks, plans, reports, the API and the watch of limits.
 */

export { fileSystemsOf } from './candidates/pool-costs.ts';
export { type GangTopology, gangsOf, likelyReaders, topologiesOf, typesOf } from './candidates/topologies.ts';
export { hourlyUsdOf, spentUsd } from './decision/work.ts';
export {
  type DrawPool,
  decide,
  type Forecast,
  forecastDecision,
  forecastRun,
  type Standing,
} from './futures/forecast.ts';
export { alternating } from './futures/run-world.ts';
export { type Interval, intervalSchema, missOf, timesSchema } from './records/placement-records.ts';
