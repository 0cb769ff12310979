/** What to do in the tick that begins: the cheapest of what is safe, by the plan's values. */
import { type Action, IDLE, ON_DEMAND, SPOT } from './actions.ts';
import type { Plan } from './plan.ts';

export interface Moment {
  readonly nowSeconds: number;
  readonly workLeft: number;
  /** What runs: IDLE after an interruption. */
  readonly runs: Action;
  /** Seconds of start-up that what runs has still to pay. */
  readonly debt: number;
  /** Whether Spot can be had in this tick. */
  readonly hasSpot: boolean;
  /** Of the market's state in the next tick. */
  readonly weights: readonly number[];
}

export interface Offer {
  readonly action: Action;
  /** Expected USD from now to the end. */
  readonly expectedUsd: number;
}

const TOLERANCE = 1e-6;

/** Ticks that end by the deadline, and the time that can still be lost if On-Demand runs from now. */
export function slackAt(
  plan: Plan,
  moment: Pick<Moment, 'nowSeconds' | 'workLeft' | 'runs' | 'debt'>,
): { readonly ticksLeft: number; readonly slack: number } {
  const { tickSeconds, deadlineSeconds } = plan.job;
  const ticksLeft = Math.floor((deadlineSeconds - moment.nowSeconds) / tickSeconds + 1e-9);
  const debt = moment.runs === IDLE ? 0 : moment.debt;
  return { ticksLeft, slack: Math.max(0, ticksLeft * tickSeconds - moment.workLeft - debt) };
}

/** Every safe action with its expected cost, the best first; On-Demand is always among them. */
export function offers(plan: Plan, moment: Moment): readonly Offer[] {
  const { job } = plan;
  const { ticksLeft, slack } = slackAt(plan, moment);
  if (ticksLeft < 1) return [{ action: ON_DEMAND, expectedUsd: 0 }];
  const end = (ticksLeft - 1) * job.tickSeconds;
  const tickHours = job.tickSeconds / 3_600;
  const after = (ran: Action, slack: number, owed = 0): number =>
    slack >= end
      ? 0
      : plan.value(ticksLeft - 1, { ran, slack, debt: Math.max(0, owed - job.tickSeconds) }, moment.weights);
  const found: Offer[] = [];
  const waited = slack - job.tickSeconds;
  if (waited >= job.restartSeconds - TOLERANCE)
    found.push({ action: IDLE, expectedUsd: (job.waitingUsd ?? 0) * tickHours + after(IDLE, waited) });
  if (moment.hasSpot) {
    const stays = moment.runs === SPOT;
    const left = slack - (stays ? 0 : job.restartSeconds);
    if (left >= job.restartSeconds - TOLERANCE || left >= end) {
      const owed = stays ? moment.debt : job.restartSeconds;
      found.push({ action: SPOT, expectedUsd: job.spotUsd * tickHours + after(SPOT, left, owed) });
    }
  }
  const left = slack - (moment.runs === ON_DEMAND ? 0 : job.restartSeconds);
  found.push({ action: ON_DEMAND, expectedUsd: job.onDemandUsd * tickHours + after(ON_DEMAND, left) });
  return found.toSorted((a, b) => a.expectedUsd - b.expectedUsd);
}
