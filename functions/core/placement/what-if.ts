/** Asks a stored question again with something changed: another deadline, other types or zones, no Spot, a budget. */
import type { Pipeline } from '../pipeline.ts';
import type { PlacementDecision } from '../records.ts';
import { choosePlacement } from './choose.ts';
import type { PlacementInput } from './situation.ts';

export interface WhatIf {
  readonly deadlineHours?: number | undefined;
  readonly market?: Pipeline['compute']['market'] | undefined;
  readonly instanceTypes?: readonly string[] | undefined;
  readonly zoneIds?: readonly string[] | undefined;
  readonly budgetUsd?: number | undefined;
}

export const decideIf = (input: PlacementInput, change: WhatIf): PlacementDecision =>
  choosePlacement(changed(input, change));

function changed(input: PlacementInput, change: WhatIf): PlacementInput {
  const { vpc, ...compute } = input.compute;
  const { zoneIds } = change;
  const subnets = vpc?.subnets.filter(({ zoneId }) => zoneIds === undefined || zoneIds.includes(zoneId));
  return {
    ...input,
    compute: {
      ...compute,
      instanceTypes: [...(change.instanceTypes ?? compute.instanceTypes)],
      market: change.market ?? compute.market,
      ...(vpc && subnets ? { vpc: { ...vpc, subnets } } : {}),
    },
    limits: {
      ...input.limits,
      deadlineHours: change.deadlineHours ?? input.limits.deadlineHours,
      ...(change.budgetUsd === undefined ? {} : { budgetUsd: change.budgetUsd }),
    },
  };
}
