/** Asks a stored question again with something changed: another deadline, other types, zones or regions, no Spot, a budget. */

import {
  ec2OnDemandUsd,
  ec2SpotUsd,
  type FactsOf,
  regionOfZone,
  trainingPrice,
  zonesOfRegion,
} from '@tidewheel/catalog/catalog.ts';
import { factsWith } from '@tidewheel/catalog/hardware.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { RegionView } from '../candidates/pools.ts';
import { transferOf } from '../candidates/priced-from-list.ts';
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
  ...(instanceTypes === undefined ? {} : { instanceTypes: [...instanceTypes] }),
  ...(regions === undefined ? {} : { regions: regions.map((name) => ({ name })) }),
  purchaseOption: purchaseOption ?? compute.purchaseOption,
  ...(launcher === undefined ? {} : { launcher }),
});

function changed(input: PlacementInput, change: WhatIf): PlacementInput {
  const { vpc, ...compute } = changedCompute(input, change);
  const home = ofZones(vpc, change.zoneIds, input.market.zones);
  const elsewhere = (input.elsewhere ?? []).filter(
    ({ market }) => change.regions === undefined || change.regions.includes(market.region),
  );
  return {
    ...input,
    elsewhere: elsewhere.map((view): RegionView => {
      const { vpc: own, ...rest } = view;
      const there = ofZones(own, change.zoneIds, view.market.zones);
      return there === undefined ? rest : { ...rest, vpc: there };
    }),
    compute: { ...compute, ...(home === undefined ? {} : { vpc: home }) },
    limits: {
      ...input.limits,
      ...(change.deadlineHours === undefined ? {} : { deadlineHours: change.deadlineHours }),
      ...(change.budgetUsd === undefined ? {} : { budgetUsd: change.budgetUsd }),
    },
  };
}

/** The asked zones, with the subnets they have or one that stands for a subnet that they would need. */
function ofZones(
  vpc: Vpc,
  zoneIds: readonly string[] | undefined,
  zones: readonly { readonly zoneId: string }[],
): Vpc {
  if (zoneIds === undefined) return vpc;
  const here = zoneIds.filter(
    (zoneId) =>
      vpc?.subnets.some((subnet) => subnet.zoneId === zoneId) || zones.some((zone) => zone.zoneId === zoneId),
  );
  return {
    securityGroupIds: vpc?.securityGroupIds ?? [],
    subnets: here.map(
      (zoneId) =>
        vpc?.subnets.find((subnet) => subnet.zoneId === zoneId) ?? { id: `subnet-if-${zoneId}`, zoneId },
    ),
  };
}

// For a what-if of types, zones or regions that a decision did not have: what the stored history of the market says of
// them at that time, else the catalog's snapshot, and a note for each that is not of that time or not known at all.

interface CompletedMarket {
  readonly input: PlacementInput;
  readonly notes: readonly string[];
}

interface CompletionDeps {
  readonly marketSamples: Pick<MarketSampleStore, 'list'>;
  /** Sums all shards, and replaces what is on record. */
  readonly datasetBytes?: number | undefined;
}

export async function completeMarket(
  input: PlacementInput,
  change: WhatIf,
  deps: CompletionDeps,
): Promise<CompletedMarket> {
  const notes: string[] = [];
  const compute = changedCompute(input, change);
  const home = input.market.region;
  const hardware = factsWith(input.hardware);
  const wanted = { compute, change, now: input.now, hardware, notes };
  const market = await completed(input.market, input.compute.vpc, wanted, deps);
  const known = new Map((input.elsewhere ?? []).map((view) => [view.market.region, view]));
  const regions = (change.regions ?? [...known.keys()]).filter((region) => region !== home);
  const elsewhere = await Promise.all(
    regions.map(async (region): Promise<RegionView> => {
      const view = known.get(region) ?? unknownView(region, { home, input, deps, notes });
      return { ...view, market: await completed(view.market, view.vpc, wanted, deps) };
    }),
  );
  const weighed = [market, ...elsewhere.map((view) => view.market)];
  return {
    input: { ...input, market, ...(elsewhere.length > 0 ? { elsewhere } : {}) },
    notes: [...new Set([...notes, ...unheardOf(change, weighed)])],
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

interface Unknown {
  readonly home: string;
  readonly input: PlacementInput;
  readonly deps: CompletionDeps;
  readonly notes: string[];
}

function unknownView(region: string, { home, input, deps, notes }: Unknown): RegionView {
  const { attempts, progress } = input;
  const datasetBytes = deps.datasetBytes ?? input.dataset?.bytes;
  if (datasetBytes === undefined)
    notes.push(
      `how much data would move to ${region} is not on record: --data-gigabytes says it, else its cost is left out`,
    );
  return {
    market: { region, scores: [], spotPrices: [], onDemandPrices: [], zones: [], notes: [] },
    transfer: transferOf({
      home,
      region,
      datasetBytes,
      checkpointBytes: progress?.checkpointBytes,
      attempts,
    }),
  };
}

interface Wanted {
  readonly compute: PlacementInput['compute'];
  readonly change: WhatIf;
  readonly now: string;
  readonly hardware: FactsOf;
  readonly notes: string[];
}

async function completed(
  market: MarketView,
  vpc: PlacementInput['compute']['vpc'],
  wanted: Wanted,
  { marketSamples }: CompletionDeps,
): Promise<MarketView> {
  const { compute, change, now, hardware, notes } = wanted;
  const types = [
    ...new Set([
      ...typesOf(compute, hardware),
      ...(compute.helpers ?? []).map(({ instanceType }) => instanceType),
    ]),
  ];
  const requested = change.zoneIds?.filter((zoneId) => regionOfZone(zoneId) === market.region);
  const zoneIds = requested ?? vpc?.subnets.map(({ zoneId }) => zoneId) ?? zonesOfRegion(market.region);
  const samples = await samplesOf(marketSamples, types, zoneIds, new Date(now));
  const spotPrices = types.flatMap((type) => {
    // A type that was priced then was priced in every zone that offered it.
    if (market.spotPrices.some((each) => each.instanceType === type && zoneIds.includes(each.zoneId)))
      return [];
    return zoneIds.flatMap((zoneId) => spotOf(type, zoneId, { market, samples, notes }));
  });
  const scores = keptScores(samples, { compute, now: new Date(now), hardware }).filter(
    ({ zoneId, nodes }) =>
      !market.scores.some((each) => each.zoneId === zoneId && (each.nodes ?? nodes) === nodes),
  );
  const priced = new Set(market.onDemandPrices.map(({ instanceType }) => instanceType));
  const onDemandPrices = types
    .filter((type) => !priced.has(type))
    .flatMap((type) => onDemandOf(type, { market, samples, notes }));
  return {
    ...market,
    scores: [...market.scores, ...scores],
    spotPrices: [...market.spotPrices, ...spotPrices],
    onDemandPrices: [...market.onDemandPrices, ...onDemandPrices],
    zones: [
      ...market.zones,
      ...(requested ?? [])
        .filter((id) => market.zones.every(({ zoneId }) => zoneId !== id))
        .map((zoneId) => ({ zoneId, zoneName: zoneId })),
    ],
  };
}

interface Sources {
  readonly market: MarketView;
  readonly samples: readonly MarketSample[];
  readonly notes: string[];
}

function spotOf(
  instanceType: string,
  zoneId: string,
  { market, samples, notes }: Sources,
): readonly SpotPrice[] {
  const sample = samples.find((each) => each.zoneId === zoneId && each.spotUsd[instanceType] !== undefined);
  const remembered = sample?.spotUsd[instanceType];
  if (sample !== undefined && remembered !== undefined) {
    notes.push(`the Spot price of ${instanceType} in ${zoneId} is the history's of ${sample.at}`);
    return [{ instanceType, zoneId, hourlyUsd: remembered, basis: 'quoted' }];
  }
  const snapshot = ec2SpotUsd(instanceType, market.region, zoneId);
  notes.push(
    snapshot === undefined
      ? `no Spot price of ${instanceType} in ${zoneId} is known: neither history nor snapshot names one`
      : `the Spot price of ${instanceType} in ${zoneId} is the snapshot's, not of that time`,
  );
  return snapshot === undefined ? [] : [{ instanceType, zoneId, hourlyUsd: snapshot, basis: 'snapshot' }];
}

function onDemandOf(instanceType: string, { market, samples, notes }: Sources): readonly OnDemandPrice[] {
  const ec2HourlyUsd = ec2OnDemandUsd(instanceType, market.region);
  const sample = samples.find(
    (each) => regionOfZone(each.zoneId) === market.region && each.onDemandUsd[instanceType] !== undefined,
  );
  const remembered = sample?.onDemandUsd[instanceType];
  if (sample !== undefined && remembered !== undefined)
    return [
      { instanceType, hourlyUsd: remembered, basis: 'quoted', note: `history of ${sample.at}`, ec2HourlyUsd },
    ];
  const price = trainingPrice(instanceType, market.region);
  if (price === undefined) {
    notes.push(`no On-Demand price of ${instanceType} in ${market.region} is known: it is left out`);
    return [];
  }
  return [{ instanceType, ...price, ec2HourlyUsd }];
}
