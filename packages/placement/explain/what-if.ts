/** Asks a stored question again with something changed: another deadline, other types, zones or regions, no Spot, a budget. */

import {
  ec2OnDemandUsd,
  ec2SpotUsd,
  regionOfZone,
  trainingPrice,
  zonesOfRegion,
} from '@tidewheel/catalog/catalog.ts';
import { factsWith } from '@tidewheel/catalog/hardware.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { transferOf } from '../candidates/pool-costs.ts';
import type { RegionView } from '../candidates/pools.ts';
import { typesOf } from '../candidates/topologies.ts';
import type { PlacementInput } from '../decision/situation.ts';
import { decide } from '../futures/forecast.ts';
import { keptScores, samplesOf } from '../market/market-memory.ts';
import type {
  MarketSample,
  MarketSampleStore,
  MarketView,
  OnDemandPrice,
  SpotPrice,
} from '../records/market-history.ts';
import type { PlacementDecision } from '../records/placement-records.ts';

export interface WhatIf {
  readonly deadlineHours?: number | undefined;
  readonly purchaseOption?: Pipeline['compute']['purchaseOption'] | undefined;
  readonly launcher?: Pipeline['compute']['launcher'];
  readonly instanceTypes?: readonly string[] | undefined;
  readonly zoneIds?: readonly string[] | undefined;
  readonly regions?: readonly string[] | undefined;
  readonly budgetUsd?: number | undefined;
}

/** @param input as asked then; with types, zones or regions that it did not have, what `fill-in.ts` found of them */
export const decideIf = (input: PlacementInput, change: WhatIf, seed: string): PlacementDecision =>
  decide(changed(input, change), seed);

type Vpc = Pipeline['compute']['vpc'];

/** The pipeline's compute with the fields of the what-if; zones need the market and come later. */
const changedCompute = (
  { compute }: PlacementInput,
  { instanceTypes, regions, purchaseOption, launcher }: WhatIf,
): Pipeline['compute'] => ({
  ...compute,
  ...(instanceTypes && { instanceTypes: [...instanceTypes] }),
  ...(regions && { regions: regions.map((name) => ({ name })) }),
  ...(purchaseOption && { purchaseOption }),
  ...(launcher && { launcher }),
});

function changed(input: PlacementInput, change: WhatIf): PlacementInput {
  const { zoneIds, regions, deadlineHours, budgetUsd } = change;
  const compute = changedCompute(input, change);
  const elsewhere = (input.elsewhere ?? []).filter(
    ({ market }) => regions === undefined || regions.includes(market.region),
  );
  return {
    ...input,
    elsewhere: elsewhere.map((view) => ({ ...view, vpc: ofZones(view.vpc, zoneIds, view.market.zones) })),
    compute: { ...compute, vpc: ofZones(compute.vpc, zoneIds, input.market.zones) },
    limits: {
      ...input.limits,
      ...(deadlineHours !== undefined && { deadlineHours }),
      ...(budgetUsd !== undefined && { budgetUsd }),
    },
  };
}

/** The asked zones, with the subnets they have or one that stands for a subnet that they would need. */
function ofZones(vpc: Vpc, zoneIds: WhatIf['zoneIds'], zones: MarketView['zones']): Vpc {
  if (zoneIds === undefined) return vpc;
  const subnets = zoneIds.flatMap((zoneId) => {
    const known = vpc?.subnets.find((subnet) => subnet.zoneId === zoneId);
    const isHere = known !== undefined || zones.some((zone) => zone.zoneId === zoneId);
    return isHere ? [known ?? { id: `subnet-if-${zoneId}`, zoneId }] : [];
  });
  return { securityGroupIds: vpc?.securityGroupIds ?? [], subnets };
}

// For a what-if of types, zones or regions that a decision did not have: what the stored history of the market says of
// them at that time, else the catalog's snapshot, and a note for each that is not of that time or not known at all.

interface CompletionDeps {
  readonly marketSamples: Pick<MarketSampleStore, 'list'>;
  /** Sums all shards, and replaces what is on record. */
  readonly datasetBytes?: number | undefined;
}

/** What is completed, and where notes on it go. */
interface Completion {
  readonly input: PlacementInput;
  readonly change: WhatIf;
  readonly deps: CompletionDeps;
  readonly notes: string[];
}

export async function completeMarket(
  input: PlacementInput,
  change: WhatIf,
  deps: CompletionDeps,
): Promise<{ readonly input: PlacementInput; readonly notes: readonly string[] }> {
  const completion: Completion = { input, change, deps, notes: [] };
  const market = await completed(input.market, input.compute.vpc, completion);
  const known = new Map((input.elsewhere ?? []).map((view) => [view.market.region, view]));
  const regions = change.regions ?? [...known.keys()];
  const elsewhere = await Promise.all(
    regions
      .filter((region) => region !== market.region)
      .map(async (region): Promise<RegionView> => {
        const view = known.get(region) ?? unknownView(region, completion);
        return { ...view, market: await completed(view.market, view.vpc, completion) };
      }),
  );
  const weighed = [market, ...elsewhere.map((view) => view.market)];
  return {
    input: { ...input, market, ...(elsewhere.length > 0 && { elsewhere }) },
    notes: [...new Set([...completion.notes, ...unheardOf(change, weighed)])],
  };
}

/** Unknown zones and regions have no row in the table, and so no reason there. */
function unheardOf(
  { zoneIds = [], regions = [] }: WhatIf,
  weighed: readonly MarketView[],
): readonly string[] {
  const names = weighed.map(({ region }) => region);
  const inThem = new Set(weighed.flatMap(({ region, zones }) => zonesIn(region, zones)));
  return [
    ...regions
      .filter((name) =>
        weighed.every(({ region, zones }) => region !== name || zonesIn(name, zones).length === 0),
      )
      .map((name) => `no zone of ${name} is known: see that the region is written as AWS does`),
    ...zoneIds
      .filter((id) => !inThem.has(id))
      .map((id) => `${id} is no known zone of ${names.join(' or ')}: ${[...inThem].sort().join(', ')} are`),
  ];
}

const zonesIn = (region: string, zones: MarketView['zones']): readonly string[] => [
  ...zones.filter(({ zoneId }) => regionOfZone(zoneId) === region).map(({ zoneId }) => zoneId),
  ...zonesOfRegion(region),
];

function unknownView(region: string, { input, deps, notes }: Completion): RegionView {
  const { attempts, progress, market, dataset } = input;
  const datasetBytes = deps.datasetBytes ?? dataset?.bytes;
  if (datasetBytes === undefined)
    notes.push(
      `how much data would move to ${region} is not on record: --data-gigabytes says it, else its cost is left out`,
    );
  const checkpointBytes = progress?.checkpointBytes;
  return {
    market: { region, scores: [], spotPrices: [], onDemandPrices: [], zones: [], notes: [] },
    transfer: transferOf({ home: market.region, region, datasetBytes, checkpointBytes, attempts }),
  };
}

async function completed(
  market: MarketView,
  vpc: Vpc,
  { input, change, deps, notes }: Completion,
): Promise<MarketView> {
  const now = new Date(input.now);
  const hardware = factsWith(input.hardware);
  const compute = changedCompute(input, change);
  const helpers = (compute.helpers ?? []).map(({ instanceType }) => instanceType);
  const types = [...new Set([...typesOf(compute, hardware), ...helpers])];
  const requested = change.zoneIds?.filter((zoneId) => regionOfZone(zoneId) === market.region);
  const zoneIds = requested ?? vpc?.subnets.map(({ zoneId }) => zoneId) ?? zonesOfRegion(market.region);
  const samples = await samplesOf(deps.marketSamples, types, zoneIds, now);
  const sources = { region: market.region, samples, notes };
  const spotPrices = types.flatMap((type) =>
    // A type that was priced then was priced in every zone that offered it.
    market.spotPrices.some((each) => each.instanceType === type && zoneIds.includes(each.zoneId))
      ? []
      : zoneIds.flatMap((zoneId) => spotOf(type, zoneId, sources)),
  );
  const scores = keptScores(samples, { compute, now, hardware }).filter(
    ({ zoneId, nodes }) =>
      !market.scores.some((each) => each.zoneId === zoneId && (each.nodes ?? nodes) === nodes),
  );
  const onDemandPrices = types
    .filter((type) => market.onDemandPrices.every(({ instanceType }) => instanceType !== type))
    .flatMap((type) => onDemandOf(type, sources));
  const zones = (requested ?? []).filter((id) => market.zones.every(({ zoneId }) => zoneId !== id));
  return {
    ...market,
    scores: [...market.scores, ...scores],
    spotPrices: [...market.spotPrices, ...spotPrices],
    onDemandPrices: [...market.onDemandPrices, ...onDemandPrices],
    zones: [...market.zones, ...zones.map((zoneId) => ({ zoneId, zoneName: zoneId }))],
  };
}

interface Sources {
  readonly region: string;
  readonly samples: readonly MarketSample[];
  readonly notes: string[];
}

function spotOf(
  instanceType: string,
  zoneId: string,
  { region, samples, notes }: Sources,
): readonly SpotPrice[] {
  const sample = samples.find((each) => each.zoneId === zoneId && each.spotUsd[instanceType] !== undefined);
  const hourlyUsd = sample?.spotUsd[instanceType] ?? ec2SpotUsd(instanceType, region, zoneId);
  const price = `Spot price of ${instanceType} in ${zoneId} is`;
  if (hourlyUsd === undefined) {
    notes.push(`no ${price} known: neither history nor snapshot names one`);
    return [];
  }
  notes.push(`the ${price} the ${sample ? `history's of ${sample.at}` : "snapshot's, not of that time"}`);
  return [{ instanceType, zoneId, hourlyUsd, basis: sample ? 'quoted' : 'snapshot' }];
}

function onDemandOf(instanceType: string, { region, samples, notes }: Sources): readonly OnDemandPrice[] {
  const ec2HourlyUsd = ec2OnDemandUsd(instanceType, region);
  const sample = samples.find(
    (each) => regionOfZone(each.zoneId) === region && each.onDemandUsd[instanceType] !== undefined,
  );
  const hourlyUsd = sample?.onDemandUsd[instanceType];
  if (sample !== undefined && hourlyUsd !== undefined)
    return [{ instanceType, hourlyUsd, basis: 'quoted', note: `history of ${sample.at}`, ec2HourlyUsd }];
  const price = trainingPrice(instanceType, region);
  if (price !== undefined) return [{ instanceType, ...price, ec2HourlyUsd }];
  notes.push(`no On-Demand price of ${instanceType} in ${region} is known: it is left out`);
  return [];
}
