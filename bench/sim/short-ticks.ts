/** Ticks of half a minute are decided several together: a plan of so short ones takes gigabytes and costs the run no less. */
import { IDLE, ON_DEMAND, SPOT } from '../../packages/placement/policy/plan-pass.ts';
import type { Setting } from '../../test/support/market/job.ts';
import type { Decision, Strategy, View } from './world.ts';

/** As short as the shortest ticks that the policy was measured with. */
const SHORTEST_SECONDS = 195;

export function decidedTogether(inner: Strategy): Strategy {
  return {
    name: inner.name,
    begin(setting) {
      const ticks = Math.max(1, Math.floor(SHORTEST_SECONDS / setting.tickSeconds));
      const decide = inner.begin({ ...setting, tickSeconds: ticks * setting.tickSeconds });
      if (ticks === 1) return decide;
      let held: Decision = { action: IDLE, zone: 0 };
      return (view) => {
        if (view.tick % ticks === 0) held = decide({ ...view, tick: view.tick / ticks });
        // What was lost on the way may only flicker back: it is decided on again with the others.
        else if (held.action === SPOT && view.runs !== SPOT) held = { ...held, action: IDLE };
        return isSafe(setting, view, held) ? held : { action: ON_DEMAND, zone: view.zone };
      };
    },
  };
}

/** After this one tick the work is done, or an On-Demand start still ends in time. */
function isSafe(setting: Setting, view: View, { action, zone }: Decision): boolean {
  const { tickSeconds, restartSeconds, deadlineSeconds } = setting;
  if (action === ON_DEMAND) return true;
  const owed = view.runs !== SPOT || zone !== view.zone ? restartSeconds : view.debt;
  const timeLeft = deadlineSeconds - view.nowSeconds;
  const gain = action === IDLE ? 0 : Math.max(0, tickSeconds - owed);
  return gain >= view.workLeft
    ? owed + view.workLeft <= timeLeft
    : timeLeft - tickSeconds - (view.workLeft - gain) >= restartSeconds;
}
