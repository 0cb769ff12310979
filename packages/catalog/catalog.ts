/**
 * Instance types with their facts, and the snapshot of prices and zones.
 *
 * In: a name. Out: facts, or undefined for a type that is not known. Called by everybody.
 */
export {
  catalogTypes,
  ec2OnDemandUsd,
  ec2SpotUsd,
  type FactsOf,
  type InstanceFacts,
  instanceFacts,
  interchangeableTypes,
  offeredZoneIds,
  regionOfZone,
  scoredFamily,
  snapshotDates,
  trainingPrice,
  trainingRatio,
  zonesOfRegion,
} from './facts/catalog.ts';
