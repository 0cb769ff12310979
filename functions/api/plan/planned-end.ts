/**
 * What a plan says of end and cost: the forecast, or bounds where nothing is known of the pace, and what would keep a
 * deadline that is likely to be missed.
 */

import { deadlineHoursOf, type Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { choosePlacement, type PlacementInput } from '@tidewheel/placement/choose.ts';
import { type Forecast, forecastDecision } from '@tidewheel/placement/estimate.ts';
import type { Placement, PlacementDecision } from '@tidewheel/placement/records.ts';

type From = Pick<Parameters<typeof forecastDecision>[0], 'seed' | 'packingSeconds'>;

export interface PlannedEnd {
  readonly forecast?: Forecast | undefined;
  /** In its place where nothing is known of the pace. */
  readonly bounds?: Bounds | undefined;
  readonly notes: readonly string[];
}

export function plannedEnd(input: PlacementInput, decision: PlacementDecision, from: From): PlannedEnd {
  if (decision.kind === 'giveUp') return { notes: [] };
  const forecast = forecastDecision({ input, decision, ...from });
  if (forecast !== undefined)
    return {
      forecast,
      notes: [...budgetNotes(forecast, input.limits), ...deadlineNotes(input, forecast, from)],
    };
  return {
    ...(decision.kind === 'launch' && { bounds: boundsOf(decision.placement, input.limits) }),
    notes: [NO_PACE],
  };
}

const NO_PACE =
  'nothing is known of the pace of this pipeline: no run of it has succeeded; after the first minutes of steps its cost and its end are known within limits';

/** What a run of unknown pace cannot pass, and what it would cost to know the pace. */
interface Bounds {
  /** By the budget, or by the On-Demand price of the longest attempt. */
  readonly mostUsd: number;
  readonly probeUsd: number;
}

/** A start, and two minutes of steps. */
const PROBE_SECONDS = 600;

function boundsOf(placement: Placement, limits: Pipeline['limits']): Bounds {
  const { onDemandHourlyUsd, topology, helpersHourlyUsd = 0, maximumRunSeconds } = placement;
  const hourlyUsd = onDemandHourlyUsd * topology.nodes + helpersHourlyUsd;
  const longest = Math.min(maximumRunSeconds, (deadlineHoursOf(limits) ?? Number.POSITIVE_INFINITY) * 3_600);
  const usd = (seconds: number): number => (hourlyUsd * seconds) / 3_600;
  return {
    mostUsd: Math.min(limits.budgetUsd ?? Number.POSITIVE_INFINITY, usd(longest)),
    probeUsd: usd(PROBE_SECONDS),
  };
}

const percent = (chance: number): string => `${Math.round(chance * 100)} %`;

/** A rarer end is not worth a line. */
const WORTH_SAYING = 0.05;

const budgetNotes = ({ overBudgetChance }: Forecast, { budgetUsd }: Pipeline['limits']): readonly string[] =>
  budgetUsd !== undefined && overBudgetChance > WORTH_SAYING
    ? [
        `the cost passes limits.budgetUsd of ${budgetUsd} with a chance of ${percent(overBudgetChance)}: the run is then stopped after a save, before it is done`,
      ]
    : [];

/** What would keep a deadline that is likely to be missed. */
function deadlineNotes(input: PlacementInput, end: Forecast, from: From): readonly string[] {
  const { lateChance = 0 } = end;
  if (lateChance <= WORTH_SAYING) return [];
  const { compute } = input;
  const changes = [
    { text: 'compute.purchaseOption: on-demand', change: { purchaseOption: 'on-demand' as const } },
    ...(compute.nodes === undefined
      ? []
      : [{ text: `compute.nodes: ${compute.nodes * 2}`, change: { nodes: compute.nodes * 2 } }]),
  ];
  const keeping = changes.flatMap(({ text, change }) => {
    const changed = { ...input, compute: { ...compute, ...change } };
    const then = forecastDecision({ input: changed, decision: choosePlacement(changed), ...from });
    if (then === undefined || (then.lateChance ?? 0) > WORTH_SAYING) return [];
    return [`${text}, for about $${then.usd.expected.toFixed(2)}`];
  });
  const hours = Math.ceil(end.seconds.high / 3_600);
  return [
    `the deadline is missed with a chance of ${percent(lateChance)}; it would be kept by ${[...keeping, `limits.deadlineHours: ${hours}`].join(', or by ')}`,
  ];
}
