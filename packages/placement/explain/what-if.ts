/** Asks a stored question again with something changed: another deadline, other types, zones or regions, no Spot, a budget. */
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { RegionView } from '../candidates/pools.ts';
import type { PlacementInput } from '../decision/situation.ts';
import { decide } from '../futures/forecast.ts';
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
export const changedCompute = (
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
