/**
 * Campaigns beside a training plan whose clock is drawn, on traces from the fitted chain: what is paid for over the least
 * that a schedule could have paid that knows the traces and the clock, and how long the plan stood idle meanwhile.
 */

import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import type { Setting } from '../../../test/support/market/job.ts';
import { drawTraces } from '../../../test/support/market/traces.ts';
import { optimumUsd } from '../../sim/optimum.ts';
import { campaign, HOUR, type Lived, type Plan } from './decided-campaign.ts';
import { SCORES, type ScoreKind, SETTING, TICKS } from './play.ts';

export interface Reserved extends Lived {
  readonly seed: number;
  readonly plan: Plan;
  readonly optimumUsd: number;
  /** Over the optimum, of the same campaign without the plan. */
  readonly withoutPlan: readonly [costUsd: number, optimumUsd: number];
  /** Ticks in which the plan had its hosts and the run was not done, and those of them that did nothing. */
  readonly openTicks: number;
  readonly idleTicks: number;
}

/** AWS takes the hosts half an hour before the end. */
const ENDING_HOURS = 0.5;

const planOf = (seed: number): Plan => {
  const draw = seededUniform(`plan ${seed}`);
  const startsAt = Math.round(6 * 18 * draw()) / 6;
  return { startsAt, endsAt: startsAt + 2 + Math.round(10 * draw()) };
};

/** @param given `isCalm`: Spot is always there, so that nothing but the plan has to be planned for */
export async function reservedCampaigns(
  scoreKind: ScoreKind,
  { seeds, isCalm = false }: { readonly seeds: readonly number[]; readonly isCalm?: boolean },
): Promise<readonly Reserved[]> {
  const rows: Reserved[] = [];
  for (const seed of seeds) {
    const plan = planOf(seed);
    const hours = (tick: number): number => (tick * SETTING.tickSeconds) / HOUR;
    const hosts = Array.from(
      { length: TICKS },
      (_, tick) => hours(tick) >= plan.startsAt && hours(tick + 1) <= plan.endsAt - ENDING_HOURS,
    );
    const setting: Setting = { ...SETTING, spotUsd: [...SETTING.spotUsd, 0] };
    const spot = drawTraces(seed, SETTING.spotUsd.length, TICKS).map((trace) =>
      trace.map((isUp) => isUp || isCalm),
    );
    const given = [...spot, hosts].map((trace) => ({ trace, scores: SCORES[scoreKind](trace, seed) }));
    const lived = await campaign(setting, given, { plan });
    const alone = await campaign(SETTING, given.slice(0, -1));
    const open = lived.timeline.split('').filter((_, tick) => hosts[tick]);
    rows.push({
      seed,
      plan,
      optimumUsd: optimumUsd(setting, [...spot, hosts]),
      withoutPlan: [alone.costUsd, optimumUsd(SETTING, spot)],
      openTicks: open.length,
      idleTicks: open.filter((letter) => letter !== String(spot.length)).length,
      ...lived,
    });
  }
  return rows;
}

export function summaryOfReserved(rows: readonly Reserved[]) {
  const total = (pick: (row: Reserved) => number) => rows.reduce((sum, row) => sum + pick(row), 0);
  return {
    late: rows.filter(({ finishSeconds }) => finishSeconds > SETTING.deadlineSeconds).length,
    /** Paid over the optimum's, all together. */
    together: total(({ costUsd }) => costUsd) / total((row) => row.optimumUsd),
    withoutPlan: total((row) => row.withoutPlan[0]) / total((row) => row.withoutPlan[1]),
    idle:
      total(({ idleTicks }) => idleTicks) /
      Math.max(
        1,
        total(({ openTicks }) => openTicks),
      ),
  };
}
