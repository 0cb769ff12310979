/** The expected cost of a campaign that starts on Spot now: the plan of ../policy with today's numbers. */

import { type Belief, type Matrix, multiply } from '../belief/regimes.ts';
import { type Action, IDLE, ON_DEMAND, SPOT } from '../policy/actions.ts';
import { market, marketBeliefOf, TICK_SECONDS } from '../policy/belief-observation.ts';
import { type MarketBelief, type Offer, offers, type Standing } from '../policy/decide.ts';
import { keptPlans, type PolicyPlan, type StateChance } from '../policy/value-function.ts';
import type { WorkEstimate } from './work.ts';

/** Longer jobs are planned in longer ticks, so that a decision takes milliseconds. */
const MAXIMUM_TICKS = 96;
/** Time beyond this many times the work changes no expectation, so the plan leaves it out. */
const HORIZON_WORKS = 2.5;

export interface SpotPlanInput {
  readonly secondsLeft: number;
  readonly work: WorkEstimate;
  /** Per hour, for the whole gang. */
  readonly spotUsd: number;
  readonly onDemandUsd: number;
  /** The value of an hour until the end, whatever runs in it. */
  readonly timeUsd?: number | undefined;
}

export interface SpotPlan {
  /** Expected USD to the end for each course of action, while nothing or On-Demand runs. */
  expectedUsd(belief: Belief, runs?: typeof IDLE | typeof ON_DEMAND): CourseUsd;
  /** The cheapest action at a later moment, by the same table; undefined where it is too close to the end for one. */
  best(moment: LaterMoment): Action | undefined;
  /** On-Demand from now to the end, including a start. */
  readonly surelyUsd: number;
  /** The same on Spot without a loss. */
  readonly leastUsd: number;
}

interface LaterMoment {
  /** Until the deadline. */
  readonly secondsLeft: number;
  readonly workSeconds: number;
  readonly runs: typeof IDLE | typeof ON_DEMAND;
  readonly isThere: boolean;
  /** Distribution of the market's state in the next tick. */
  readonly ahead: readonly StateChance[];
}

/** Infinite where a course is not safe. */
interface CourseUsd {
  /** Ask now for Spot in a pool with this belief. */
  readonly ask: number;
  /** The same once the capacity is there. */
  readonly had: number;
  /** Start on On-Demand now, and return to Spot when it is up again. */
  readonly onDemand: number;
}

/** The tick depends on the work alone: more time left must not make the plan coarser. */
function ticksOf(workSeconds: number, secondsLeft: number) {
  const together = Math.max(1, Math.ceil((workSeconds * HORIZON_WORKS) / TICK_SECONDS / MAXIMUM_TICKS));
  const tickSeconds = TICK_SECONDS * together;
  const ticksLeft = Math.min(MAXIMUM_TICKS, secondsLeft / tickSeconds);
  const whole = Math.floor(ticksLeft + 1e-9);
  return { tickSeconds, ticksLeft, whole, part: Math.max(0, ticksLeft - whole) };
}

/** A table takes 1 to 3 MB. */
const MOST_TABLES = 16;

const planOf = keptPlans(
  (tickSeconds) => {
    const { lattice } = market();
    return { upStates: lattice.upStates, step: power(lattice.step, tickSeconds / TICK_SECONDS) };
  },
  { cellsPerTick: 2 },
  MOST_TABLES,
);

/** Undefined when less than two ticks are left or On-Demand would already be late: there is nothing to plan. */
export function planSpot({ secondsLeft, work, ...prices }: SpotPlanInput): SpotPlan | undefined {
  const { timeUsd = 0 } = prices;
  const [spotUsd, onDemandUsd] = [prices.spotUsd + timeUsd, prices.onDemandUsd + timeUsd];
  const { workSeconds, restartSeconds } = work;
  const { tickSeconds, ticksLeft, whole, part } = ticksOf(workSeconds, secondsLeft);
  if (ticksLeft < 2 || ticksLeft * tickSeconds - workSeconds < restartSeconds) return undefined;
  const plan = planOf({
    tickSeconds,
    workSeconds,
    deadlineSeconds: Math.ceil(ticksLeft) * tickSeconds,
    // Whole seconds, so that starts which hardly differ share a table.
    restartSeconds: Math.ceil(restartSeconds),
    spotUsd,
    onDemandUsd,
    waitingUsd: timeUsd,
  });
  const surelyUsd = (onDemandUsd * (workSeconds + restartSeconds)) / 3_600;
  // The plan bills whole ticks; for a job that ends within its first tick the rest is not billed.
  const overbilled = (hourlyUsd: number): number =>
    (hourlyUsd * Math.max(0, tickSeconds - workSeconds - restartSeconds)) / 3_600;
  // The plan's grid is too coarse for a job of one tick or less. Waiting must not seem cheaper than the work
  // itself. After a capacity error such a job runs on demand, since ten minutes of waiting would save a
  // fraction of a cent.
  const isShort = workSeconds + restartSeconds <= tickSeconds;
  const leastUsd = (spotUsd * (workSeconds + restartSeconds)) / 3_600;
  return {
    surelyUsd,
    leastUsd,
    best: (moment) => bestLater(plan, moment, ticksLeft),
    expectedUsd(belief, runs = IDLE) {
      const observed = marketBeliefOf(belief);
      const { chance } = observed;
      const within = (ticks: number): CourseUsd => {
        const standing = { ticksLeft: ticks, slack: ticks * tickSeconds - workSeconds, runs, debt: 0 };
        const { had, waited, onDemand } = worthsOf(plan, standing, observed);
        const given = had - overbilled(spotUsd);
        return {
          ask: Math.min(surelyUsd, mean(chance, given, isShort ? surelyUsd : waited)),
          had: Math.min(surelyUsd, given),
          onDemand: Math.min(surelyUsd, onDemand - overbilled(onDemandUsd)),
        };
      };
      // Linear between whole ticks, with the same work in both; with the same slack instead, a job of minutes
      // would be done in one tick.
      const fewer = within(whole);
      const more = part > 1e-9 ? within(whole + 1) : fewer;
      const between = (pick: (course: CourseUsd) => number): number =>
        part > 1e-9 ? (1 - part) * pick(fewer) + part * pick(more) : pick(fewer);
      return {
        ask: Math.max(
          leastUsd,
          between(({ ask }) => ask),
        ),
        had: Math.max(
          leastUsd,
          between(({ had }) => had),
        ),
        onDemand: between(({ onDemand }) => onDemand),
      };
    },
  };
}

function bestLater(
  plan: PolicyPlan,
  { secondsLeft, workSeconds, runs, isThere, ahead }: LaterMoment,
  mostTicks: number,
): Action | undefined {
  const { tickSeconds, restartSeconds } = plan.job;
  const ticksLeft = Math.min(mostTicks, secondsLeft / tickSeconds);
  const slack = ticksLeft * tickSeconds - workSeconds;
  if (ticksLeft < 2 || slack < restartSeconds) return undefined;
  const seen = { chance: isThere ? 1 : 0, ifThere: ahead, ifNot: ahead };
  return offers(plan, { ticksLeft, slack, runs, debt: 0 }, seen)[0]?.action;
}

/** The values of Spot with capacity, of Spot after a capacity error, and of On-Demand; infinite where not safe. */
function worthsOf(plan: PolicyPlan, standing: Standing, observed: MarketBelief) {
  const { chance } = observed;
  const at = (known: number): readonly Offer[] =>
    Math.abs(chance - known) < 1 ? offers(plan, standing, { ...observed, chance: known }) : [];
  const [there, gone] = [at(1), at(0)];
  const idle = worth(gone, IDLE);
  return {
    had: worth(there, SPOT),
    // Where a wait is not safe, On-Demand begins. Asking for Spot that is surely down is waiting.
    waited: Number.isFinite(idle) || chance === 0 ? idle : worth(gone, ON_DEMAND),
    onDemand: mean(chance, worth(there, ON_DEMAND), worth(gone, ON_DEMAND)),
  };
}

const worth = (known: readonly Offer[], action: Action): number =>
  known.find((each) => each.action === action)?.expectedUsd ?? Number.POSITIVE_INFINITY;

const mean = (chance: number, there: number, gone: number): number =>
  (chance > 0 ? chance * there : 0) + (chance < 1 ? (1 - chance) * gone : 0);

function power(step: Matrix, exponent: number): Matrix {
  let result: Matrix | undefined;
  let square = step;
  for (let rest = exponent; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = result ? multiply(result, square) : square;
    if (rest > 1) square = multiply(square, square);
  }
  return result ?? step;
}
