/**
 * What a campaign is worth that runs on Spot or, surely, on demand: by the backward pass of ../policy over the work, the
 * time and the market that are left. Whatever is chosen, moved or waited for is a difference of these values.
 */

import { type Belief, type Matrix, multiply } from '../belief/regimes.ts';
import type { Candidate } from '../candidates/pools.ts';
import { assumed } from '../model/assumed.ts';
import { market, marketBeliefOf, TICK_SECONDS } from '../policy/market-model.ts';
import { type Action, IDLE, type ON_DEMAND } from '../policy/plan-pass.ts';
import { keptPlans, type MarketBelief, offers, type PolicyPlan, worths } from '../policy/value-function.ts';
import type { Situation } from './situation.ts';
import { costUsd, gangUsd, longWaitOf, restartSecondsIn, safeWorkOf, workOf } from './work.ts';

/** Longer jobs are planned in longer ticks, so that a decision takes milliseconds. */
const MAXIMUM_TICKS = 96;
const planOf = keptPlans(
  (tickSeconds) => {
    const { lattice } = market();
    return { upStates: lattice.upStates, step: power(lattice.step, tickSeconds / TICK_SECONDS) };
  },
  // A table takes 1 to 3 MB.
  { cellsPerTick: 2, mostTables: 16, spare: 0.1 },
);

export type SpotValue = ReturnType<typeof spotValue>;

interface LaterMoment {
  /** Until the deadline. */
  readonly secondsLeft: number;
  readonly workSeconds: number;
  readonly runs: typeof IDLE | typeof ON_DEMAND;
  readonly seen: MarketBelief;
}

/** Infinite where a course is not safe. */
interface CourseUsd {
  /** Ask now for Spot in a pool with this belief. */
  readonly ask: number;
  /** The same once the capacity is there. */
  readonly had: number;
  /** Stand still for a tick, and look again. */
  readonly wait: number;
  /** Start on On-Demand now, or go on there, and return to Spot when it is up again. */
  readonly onDemand: number;
}

/** The tick depends on the work alone: more time left must not make the plan coarser. */
function ticksOf(workSeconds: number, secondsLeft: number) {
  const horizonSeconds = workSeconds * assumed.horizonWorks;
  const together = Math.max(1, Math.ceil(horizonSeconds / TICK_SECONDS / MAXIMUM_TICKS));
  const tickSeconds = TICK_SECONDS * together;
  const ticksLeft = Math.min(MAXIMUM_TICKS, secondsLeft / tickSeconds);
  const whole = Math.floor(ticksLeft + 1e-9);
  return { tickSeconds, ticksLeft, whole, part: Math.max(0, ticksLeft - whole) };
}

/**
 * A campaign on Spot that may change to this pool, which counts as sure: On-Demand, or a Spot pool at hand beside a
 * cheaper one.
 * @param spotUnitUsd what an hour of the reference's work costs on Spot, in the cheapest pool
 */
export function spotValue(
  fallback: Candidate,
  spotUnitUsd: number,
  situation: Pick<Situation, 'work' | 'secondsLeft' | 'timeUsd' | 'onDemandWaits'>,
) {
  const { work, timeUsd } = situation;
  const workSeconds = workOf(fallback, work);
  // Work that may take longer, or a wait for On-Demand, adds no expected cost, but the slack for both must stay unused.
  const unused = safeWorkOf(fallback, work) - workSeconds + longWaitOf(situation.onDemandWaits);
  const secondsLeft = situation.secondsLeft - unused;
  const restartSeconds = restartSecondsIn(fallback, work);
  const gangHourlyUsd = gangUsd(fallback);
  const spotUsd = spotUnitUsd / fallback.throughput.factor + timeUsd;
  const onDemandUsd = gangHourlyUsd + timeUsd;
  const seconds = workSeconds + restartSeconds;
  const surelyUsd = costUsd(onDemandUsd, seconds);
  // On Spot, without a loss.
  const leastUsd = costUsd(spotUsd, seconds);
  const { tickSeconds, ticksLeft, whole, part } = ticksOf(workSeconds, secondsLeft);
  // Less than two ticks: Spot that is not there at once is not waited for.
  const isPlanned = ticksLeft >= 2 && ticksLeft * tickSeconds - workSeconds >= restartSeconds;
  const plan =
    isPlanned &&
    planOf({
      tickSeconds,
      workSeconds,
      deadlineSeconds: Math.ceil(ticksLeft) * tickSeconds,
      // Whole seconds, so that starts which hardly differ share a table.
      restartSeconds: Math.ceil(restartSeconds),
      spotUsd,
      onDemandUsd,
      waitingUsd: timeUsd,
    });
  // The plan bills whole ticks; for a job that ends within its first tick the rest is not billed.
  const overbilled = (hourlyUsd: number): number => costUsd(hourlyUsd, Math.max(0, tickSeconds - seconds));
  // The grid is too coarse for a job of one tick or less: after a capacity error it runs on demand, since ten minutes
  // of waiting would save a fraction of a cent.
  const isShort = seconds <= tickSeconds;
  return {
    /** What a start on demand takes, with the same work. */
    restartSeconds,
    /** For the whole gang, without the value of time. */
    onDemandUsd: gangHourlyUsd,
    /** On-Demand from now to the end, including a start. */
    surelyUsd,
    /** The cheapest action at a later moment; undefined where it is too close to the end to tell. */
    best: (moment: LaterMoment): Action | undefined =>
      plan ? bestLater(plan, moment, ticksLeft) : undefined,
    /** Expected USD to the end for each course of action, while nothing or On-Demand runs. */
    expectedUsd(belief: Belief, runs: LaterMoment['runs'] = IDLE): CourseUsd {
      if (!plan) return atOnce(belief, leastUsd, surelyUsd);
      const { chance, ifThere, ifNot } = marketBeliefOf(belief);
      const within = (ticks: number): CourseUsd => {
        const standing = { ticksLeft: ticks, slack: ticks * tickSeconds - workSeconds, runs };
        const there = worths(plan, standing, ifThere);
        const gone = worths(plan, standing, ifNot);
        const given = there.spot - overbilled(spotUsd);
        // Asking for Spot that is surely down is waiting.
        const refused = chance === 0 ? gone.idle : gone.refused;
        const bought = mean(chance, there.onDemand, gone.onDemand) - overbilled(onDemandUsd);
        return {
          ask: Math.min(surelyUsd, mean(chance, given, isShort ? surelyUsd : refused)),
          had: Math.min(surelyUsd, given),
          wait: mean(chance, there.idle, gone.idle),
          onDemand: Math.min(surelyUsd, bought),
        };
      };
      const course = between(within, whole, part);
      // Waiting never seems cheaper than the work itself.
      return { ...course, ask: Math.max(leastUsd, course.ask), had: Math.max(leastUsd, course.had) };
    },
  };
}

function atOnce(belief: Belief, leastUsd: number, surelyUsd: number): CourseUsd {
  const had = Math.min(leastUsd, surelyUsd);
  const ask = mean(marketBeliefOf(belief).chance, had, surelyUsd);
  return { ask, had, wait: Number.POSITIVE_INFINITY, onDemand: surelyUsd };
}

/** Linear between whole ticks, with the same work in both; with the same slack, one tick would do a job of minutes. */
function between(within: (ticks: number) => CourseUsd, whole: number, part: number): CourseUsd {
  const fewer = within(whole);
  if (part <= 1e-9) return fewer;
  const more = within(whole + 1);
  const at = (course: keyof CourseUsd): number => (1 - part) * fewer[course] + part * more[course];
  return { ask: at('ask'), had: at('had'), wait: at('wait'), onDemand: at('onDemand') };
}

function bestLater(
  plan: PolicyPlan,
  { secondsLeft, workSeconds, runs, seen }: LaterMoment,
  mostTicks: number,
): Action | undefined {
  const { tickSeconds, restartSeconds } = plan.job;
  const ticksLeft = Math.min(mostTicks, secondsLeft / tickSeconds);
  const slack = ticksLeft * tickSeconds - workSeconds;
  if (ticksLeft < 2 || slack < restartSeconds) return undefined;
  // More slack than the plan was made for: its table, which may be a wider job's, must not decide.
  if (slack > plan.job.deadlineSeconds - plan.job.workSeconds + tickSeconds) return IDLE;
  return offers(plan, { ticksLeft, slack, runs }, seen)[0]?.action;
}

const mean = (chance: number, there: number, gone: number): number =>
  (chance > 0 ? chance * there : 0) + (chance < 1 ? (1 - chance) * gone : 0);

function power(step: Matrix, exponent: number): Matrix {
  if (exponent <= 1) return step;
  const half = power(step, Math.floor(exponent / 2));
  const square = multiply(half, half);
  return exponent % 2 === 1 ? multiply(square, step) : square;
}
