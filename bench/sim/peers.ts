/** The policies that ours is measured beside, from their published descriptions. */
import { IDLE, ON_DEMAND, SPOT } from '../../packages/placement/policy/plan-pass.ts';
import type { Setting } from '../../test/support/market/job.ts';
import type { Decision, Strategy, View } from './world.ts';

const onDemandOnly: Strategy = {
  name: 'on-demand',
  begin: () => (view) => ({ action: ON_DEMAND, zone: view.zone }),
};

/** Several zones for a policy made for one: off Spot it looks at the cheapest zone with capacity, on Spot it stays. */
function lookAround(setting: Setting, view: View): { readonly zone: number; readonly hasSpot: boolean } {
  if (view.runs === SPOT) return { zone: view.zone, hasSpot: true };
  let best = -1;
  for (const [zone, up] of view.available.entries()) {
    if (up && (best < 0 || (setting.spotUsd[zone] ?? 0) < (setting.spotUsd[best] ?? 0))) best = zone;
  }
  return best < 0 ? { zone: view.zone, hasSpot: false } : { zone: best, hasSpot: true };
}

type Verdict = typeof IDLE | typeof SPOT | typeof ON_DEMAND;

const overZones = (
  name: string,
  begin: (setting: Setting) => (view: View, hasSpot: boolean) => Verdict,
): Strategy => ({
  name,
  begin(setting) {
    const decide = begin(setting);
    return (view): Decision => {
      const { zone, hasSpot } = lookAround(setting, view);
      const action = decide(view, hasSpot);
      return { action, zone: action === SPOT ? zone : view.zone };
    };
  },
});

/** Whole ticks that the work and so many starts still take, and whole ticks until the deadline. */
const ticksNeeded = (setting: Setting, view: View, starts: number): number =>
  Math.ceil((view.workLeft + starts * setting.restartSeconds) / setting.tickSeconds);
const ticksLeft = (setting: Setting, view: View): number =>
  Math.floor((setting.deadlineSeconds - view.nowSeconds) / setting.tickSeconds);

/** Spot when there, else wait; once the slack is gone, On-Demand to the end. */
const greedy: Strategy = overZones('greedy', (setting) => {
  let locked = false;
  return (view, hasSpot) => {
    if (locked || ticksNeeded(setting, view, 1) >= ticksLeft(setting, view)) {
      locked ||= view.runs !== SPOT;
      return locked || !hasSpot ? ON_DEMAND : SPOT;
    }
    return hasSpot ? SPOT : IDLE;
  };
});

/** Spot when there, else On-Demand. */
const neverWaits: Strategy = overZones('never-waits', () => (_view, hasSpot) => (hasSpot ? SPOT : ON_DEMAND));

/**
 * Uniform Progress (Wu et al., Can't Be Late, NSDI 2024): never fall behind a straight line from start to deadline; once
 * on demand, stay there until two starts ahead of it.
 */
const uniformProgress: Strategy = overZones('uniform-progress', (setting) => {
  const pace = setting.workSeconds / setting.deadlineSeconds;
  return (view, hasSpot) => {
    const { runs, workDone, nowSeconds } = view;
    const left = ticksLeft(setting, view);
    if (ticksNeeded(setting, view, 1) >= left) return runs === SPOT && view.debt < 1e-3 ? SPOT : ON_DEMAND;
    if (runs !== SPOT && ticksNeeded(setting, view, 2) >= left) return ON_DEMAND;
    const aheadOfSwitch = workDone > (nowSeconds + 2 * setting.restartSeconds) * pace;
    if (runs === ON_DEMAND && (!aheadOfSwitch || !hasSpot)) return ON_DEMAND;
    if (hasSpot) return SPOT;
    return workDone < nowSeconds * pace ? ON_DEMAND : IDLE;
  };
});

export const peers: readonly Strategy[] = [onDemandOnly, greedy, uniformProgress, neverWaits];
