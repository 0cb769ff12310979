/**
 * The expected cost of each action in the coming tick. The simulator's controller and the placement of an attempt both
 * use it: the controller knows whether Spot has capacity, placement has only a belief and learns by asking.
 */

import { type Action, IDLE, ON_DEMAND, SPOT } from './plan-pass.ts';
import type { PolicyPlan, StateChance } from './value-function.ts';

/** Where a campaign stands. */
export interface PolicyState {
  /** Until the deadline. Values between whole ticks are interpolated linearly. */
  readonly ticksLeft: number;
  /** Seconds that can still be lost if On-Demand runs from now. */
  readonly slack: number;
  /** What runs: IDLE after an interruption. */
  readonly runs: Action;
  /** Seconds of start-up that the running job still owes. A loss returns them as slack. Default: 0. */
  readonly debt?: number;
}

/** What is known of Spot in this tick. */
export interface MarketBelief {
  /** Chance that capacity is there; 1 or 0 where it is observed. */
  readonly chance: number;
  /** Distribution of the market's state in the next tick, with capacity now and without. */
  readonly ifThere: readonly StateChance[];
  readonly ifNot: readonly StateChance[];
  /** Per hour in this tick, where the zone at hand has another price than the plan. */
  readonly spotUsd?: number | undefined;
}

export interface Offer {
  readonly action: Action;
  /** Expected USD from now to the end. */
  readonly expectedUsd: number;
}

const TOLERANCE = 1e-6;
const CERTAIN = 1e-9;

/** Whole ticks that end by the deadline, and the time that can still be lost if On-Demand runs from now. */
export function slackAt(
  { job: { tickSeconds, deadlineSeconds } }: PolicyPlan,
  {
    nowSeconds,
    workLeft,
    runs,
    debt,
  }: {
    readonly nowSeconds: number;
    readonly workLeft: number;
    readonly runs: Action;
    readonly debt: number;
  },
): { readonly ticksLeft: number; readonly slack: number } {
  const ticksLeft = Math.floor((deadlineSeconds - nowSeconds) / tickSeconds + 1e-9);
  const owed = runs === IDLE ? 0 : debt;
  return { ticksLeft, slack: Math.max(0, ticksLeft * tickSeconds - workLeft - owed) };
}

/**
 * Every safe action with its expected cost, the best first; On-Demand is always among them. SPOT means to ask for it;
 * without capacity the job waits for the tick.
 */
export function offers(plan: PolicyPlan, standing: PolicyState, observed: MarketBelief): readonly Offer[] {
  if (standing.ticksLeft < 1) return [{ action: ON_DEMAND, expectedUsd: 0 }];
  const there =
    observed.chance > CERTAIN ? worths(plan, standing, observed.ifThere, observed.spotUsd) : undefined;
  const not = observed.chance < 1 - CERTAIN ? worths(plan, standing, observed.ifNot) : undefined;
  const mean = (pick: (each: Worths, isThere: boolean) => number): number =>
    (there === undefined ? 0 : observed.chance * pick(there, true)) +
    (not === undefined ? 0 : (1 - observed.chance) * pick(not, false));
  const found: Offer[] = [
    { action: IDLE, expectedUsd: mean(({ idle }) => idle) },
    {
      action: SPOT,
      expectedUsd:
        there === undefined
          ? Number.POSITIVE_INFINITY
          : mean((each, had) => (had ? each.spot : each.refused)),
    },
    { action: ON_DEMAND, expectedUsd: mean(({ onDemand }) => onDemand) },
  ];
  return found
    .filter(({ expectedUsd }) => expectedUsd < Number.POSITIVE_INFINITY)
    .toSorted((a, b) => a.expectedUsd - b.expectedUsd);
}

/** Infinite where an action is not safe: after every tick an On-Demand start must still end in time. */
interface Worths {
  readonly idle: number;
  readonly spot: number;
  readonly onDemand: number;
  /** After a capacity error: the job waits for the tick or, where that is not safe, On-Demand begins. */
  readonly refused: number;
}

function worths(
  plan: PolicyPlan,
  { ticksLeft, slack, runs, debt = 0 }: PolicyState,
  weights: readonly StateChance[],
  spotUsd = plan.job.spotUsd,
): Worths {
  const { job } = plan;
  const end = (ticksLeft - 1) * job.tickSeconds;
  const tickHours = job.tickSeconds / 3_600;
  const after = (ran: Action, left: number, owed = 0): number =>
    left >= end
      ? 0
      : plan.value(ticksLeft - 1, { ran, slack: left, debt: Math.max(0, owed - job.tickSeconds) }, weights);
  const waited = slack - job.tickSeconds;
  const idle =
    waited >= job.restartSeconds - TOLERANCE
      ? (job.waitingUsd ?? 0) * tickHours + after(IDLE, waited)
      : Number.POSITIVE_INFINITY;
  const stays = runs === SPOT;
  const spotLeft = slack - (stays ? 0 : job.restartSeconds);
  const spotIsSafe = spotLeft >= job.restartSeconds - TOLERANCE || spotLeft >= end;
  const onDemand =
    job.onDemandUsd * tickHours + after(ON_DEMAND, slack - (runs === ON_DEMAND ? 0 : job.restartSeconds));
  return {
    idle,
    spot: spotIsSafe
      ? spotUsd * tickHours + after(SPOT, spotLeft, stays ? debt : job.restartSeconds)
      : Number.POSITIVE_INFINITY,
    onDemand,
    refused: Number.isFinite(idle) ? idle : onDemand,
  };
}

// How far the comparison of a pool at hand with a cheaper one looks. Slack that outages of all pools will take cannot be
// spent on waiting; the rest is spread over the work.

/** Slack must cover a start there, one back, one more, and one request without success; otherwise nothing is compared. */
const STARTS = 3;

export interface SpanQuestion {
  readonly tickSeconds: number;
  readonly restartSeconds: number;
  readonly workLeft: number;
  readonly slack: number;
  /** Share of the coming time in which some pool will have capacity. */
  readonly lasting: number;
  /** Seconds that a request without success takes; 0, the default, where capacity is observed. */
  readonly secondsIfRefused?: number | undefined;
  readonly mostWorkSeconds: number;
  readonly mostSlackSeconds: number;
}

interface Span {
  /** Both in whole ticks, as billed: with part of a tick, work that ends in this tick would seem done and waiting free. */
  readonly workSeconds: number;
  readonly slackSeconds: number;
  readonly mayWait: boolean;
}

/** @returns undefined where no slack is left to compare with */
export function comparedSpan(question: SpanQuestion): Span | undefined {
  const { tickSeconds, workLeft, lasting, mostWorkSeconds, mostSlackSeconds } = question;
  const kept = STARTS * question.restartSeconds + (question.secondsIfRefused ?? 0);
  const free = question.slack - kept - tickSeconds;
  if (free < 0 || workLeft <= 0) return undefined;
  const toWait = lasting > 0 ? Math.max(0, free - (workLeft * (1 - lasting)) / lasting) : 0;
  const work = Math.min(workLeft, mostWorkSeconds);
  const inTicks = (seconds: number): number => Math.ceil(seconds / tickSeconds - 1e-9) * tickSeconds;
  return {
    workSeconds: inTicks(work),
    slackSeconds: inTicks(Math.min((toWait * work) / workLeft + kept, mostSlackSeconds)),
    mayWait: toWait > 0,
  };
}
