/**
 * Campaigns decided attempt by attempt beside what the simulator's policy pays for the same traces, which are drawn from
 * the fitted chain, each zone's apart. The simulator sees every tick where Spot is there; `place` sees it by asking, or by
 * placement scores.
 */

import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import type { Setting } from '../../../test/support/market/job.ts';
import { drawTraces, TICK_SECONDS, type Trace } from '../../../test/support/market/traces.ts';
import { tidewheel } from '../../sim/tidewheel.ts';
import { simulate } from '../../sim/world.ts';
import { campaign, HOUR, type Lived, type Scores, type Ways, ZONE_IDS } from './decided-campaign.ts';

/** 16 of 24 hours, five minutes a start; Spot and On-Demand in USD an hour. */
export const SETTING: Setting = {
  tickSeconds: TICK_SECONDS,
  workSeconds: 16 * HOUR,
  deadlineSeconds: 24 * HOUR,
  restartSeconds: 300,
  spotUsd: [0.9731],
  onDemandUsd: 3.06,
};

/** Longer than any campaign may take. */
export const TICKS = 160;

export const MOST_ZONES = ZONE_IDS.length;

const HIGH = 8;
const LOW = 3;
const SHARE_WRONG = 0.1;

/** What scores tell: in every tick where Spot is, the other way round once in ten times, or nothing. */
export const SCORES = {
  right:
    (trace: Trace): Scores =>
    (tick) =>
      (trace[tick] ?? false) ? HIGH : LOW,
  wrong(trace: Trace, seed: number): Scores {
    const draw = seededUniform(seed);
    const isWrong = trace.map(() => draw() < SHARE_WRONG);
    return (tick) => ((trace[tick] ?? false) === (isWrong[tick] ?? false) ? LOW : HIGH);
  },
  none: (): Scores => () => undefined,
} as const;

export type ScoreKind = keyof typeof SCORES;

export interface Decided extends Lived {
  readonly seed: number;
  /** Cost over the simulator's. */
  readonly ratio: number;
  readonly simulatedUsd: number;
}

/** As many campaigns as there are seeds, one after the other. @param onEnd is called with each as soon as it has ended */
export async function decidedCampaigns(
  scoreKind: ScoreKind,
  {
    setting = SETTING,
    seeds,
    wait,
    types = 1,
    onEnd,
  }: {
    readonly setting?: Setting;
    readonly wait?: OnDemandWait | undefined;
    /** That the runs may use on demand. */
    readonly types?: number;
    readonly seeds: readonly number[];
    readonly onEnd?: (row: Decided) => void;
  },
): Promise<readonly Decided[]> {
  const policy = tidewheel();
  const rows: Decided[] = [];
  for (const seed of seeds) {
    const traces = drawTraces(seed, setting.spotUsd.length, TICKS);
    const { costUsd: simulatedUsd } = simulate(policy, setting, traces);
    const lived = await campaign(
      setting,
      traces.map((trace) => ({ trace, scores: SCORES[scoreKind](trace, seed) })),
      { types, ...(wait && waysOf(wait, setting, seed)) },
    );
    const row = { seed, ratio: lived.costUsd / simulatedUsd, simulatedUsd, ...lived };
    rows.push(row);
    onEnd?.(row);
  }
  return rows;
}

/** Minutes that On-Demand starts wait for their hosts, the least and the most. */
export interface OnDemandWait {
  readonly minutes: readonly [number, number];
  /** Runs before this one that waited as long; with none, nothing is known of it. */
  readonly formerRuns: number;
}

function waysOf({ minutes: [least, most], formerRuns }: OnDemandWait, setting: Setting, seed: number): Ways {
  const draw = seededUniform(`wait ${seed}`);
  const waitSeconds = (): number => 60 * (least + (most - least) * draw());
  return {
    formerSeconds: Array.from({ length: Math.max(1, formerRuns) }, () => setting.workSeconds),
    formerWait: formerRuns > 0 ? waitSeconds : undefined,
    onDemandAt: (requestedSeconds) => requestedSeconds + waitSeconds(),
  };
}

export interface Summary {
  readonly late: number;
  /** How many are within 5 % of the simulator. */
  readonly near: number;
  /** Cost of all over the simulator's cost of all. */
  readonly together: number;
  readonly worst: number;
}

export function summaryOf(rows: readonly Decided[], { deadlineSeconds }: Setting = SETTING): Summary {
  const total = (pick: (row: Decided) => number) => rows.reduce((sum, row) => sum + pick(row), 0);
  return {
    late: rows.filter(({ finishSeconds }) => finishSeconds > deadlineSeconds).length,
    near: rows.filter(({ ratio }) => Math.abs(ratio - 1) <= 0.05).length,
    together: total(({ costUsd }) => costUsd) / total(({ simulatedUsd }) => simulatedUsd),
    worst: Math.max(...rows.map(({ ratio }) => ratio)),
  };
}
