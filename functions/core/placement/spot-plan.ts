/** What a campaign is expected to cost that starts on Spot now: the plan of functions/core/policy at today's numbers. */

import { type Action, IDLE, SPOT } from '../policy/actions.ts';
import drawn from '../policy/lattice-600.json' with { type: 'json' };
import { marketModel } from '../policy/market-model.ts';
import { makePlan } from '../policy/plan.ts';
import { type Belief, chanceUp, fittedRegimes, type Matrix, multiply, observe } from '../policy/regimes.ts';
import type { WorkEstimate } from './work.ts';

const TICK_SECONDS = 600;
/** Longer jobs are planned in longer ticks, so that a decision takes milliseconds. */
const MAXIMUM_TICKS = 96;
/** Time beyond so many times the work changes no expectation any more, and is left out of the plan. */
const HORIZON_WORKS = 2.5;

const model = marketModel(fittedRegimes, TICK_SECONDS, drawn);

export interface SpotPlanInput {
  readonly secondsLeft: number;
  readonly work: WorkEstimate;
  /** Per hour, for the whole gang. */
  readonly spotUsd: number;
  readonly onDemandUsd: number;
  /** What an hour until the end is worth, whatever runs in it. */
  readonly timeUsd?: number | undefined;
}

export interface SpotPlan {
  /** Expected USD to the end when Spot is asked for now in a pool of which this is believed. */
  costUsd(belief: Belief): number;
}

/** undefined when less than two ticks are left or On-Demand would be late already: nothing is left to plan. */
export function planSpot({ secondsLeft, work, ...prices }: SpotPlanInput): SpotPlan | undefined {
  const { timeUsd = 0 } = prices;
  const [spotUsd, onDemandUsd] = [prices.spotUsd + timeUsd, prices.onDemandUsd + timeUsd];
  const { workSeconds, restartSeconds } = work;
  // The tick follows from the work alone: with more time left the plan must not become a coarser one.
  const together = Math.max(1, Math.ceil((workSeconds * HORIZON_WORKS) / TICK_SECONDS / MAXIMUM_TICKS));
  const tickSeconds = TICK_SECONDS * together;
  const ticksLeft = Math.min(MAXIMUM_TICKS, Math.floor(secondsLeft / tickSeconds));
  const slack = ticksLeft * tickSeconds - workSeconds;
  if (ticksLeft < 2 || slack < restartSeconds) return undefined;
  const plan = makePlan(
    { upStates: model.lattice.upStates, step: power(model.lattice.step, together) },
    {
      tickSeconds,
      workSeconds,
      deadlineSeconds: ticksLeft * tickSeconds,
      restartSeconds,
      spotUsd,
      onDemandUsd,
      waitingUsd: timeUsd,
    },
    { cellsPerTick: 2 },
  );
  const owed = Math.max(0, restartSeconds - tickSeconds);
  const surelyUsd = (onDemandUsd * (workSeconds + restartSeconds)) / 3_600;
  const after = (ran: Action, left: number, belief: Belief): number => {
    const finished = left >= (ticksLeft - 1) * tickSeconds;
    const value = finished
      ? 0
      : plan.value(ticksLeft - 1, { ran, slack: left, debt: ran === SPOT ? owed : 0 }, model.weights(belief));
    return Math.min(value, surelyUsd);
  };
  const firstTickSeconds = Math.min(tickSeconds, workSeconds + restartSeconds);
  const firstTickUsd = (spotUsd * firstTickSeconds) / 3_600;
  return {
    costUsd(belief) {
      const up = chanceUp(belief);
      const given = firstTickUsd + after(SPOT, slack - restartSeconds, observe(belief, 1, 0));
      // Where there is no capacity the job waits inside SageMaker, at no cost but time.
      const refused =
        (timeUsd * tickSeconds) / 3_600 + after(IDLE, slack - tickSeconds, observe(belief, 0, 1));
      return up * given + (1 - up) * refused;
    },
  };
}

function power(step: Matrix, exponent: number): Matrix {
  let result: Matrix | undefined;
  let square = step;
  for (let rest = exponent; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = result ? multiply(result, square) : square;
    if (rest > 1) square = multiply(square, square);
  }
  return result ?? step;
}
