/**
 * The plan of a job: the least expected cost from every situation that it can reach, by one backward pass over time. A
 * situation consists of the ticks left, the slack (time that can still be lost), what ran last, and the state of the
 * market. The deadline is enforced by the allowed actions, not by the values: after every tick an On-Demand start must
 * still end in time.
 */

import { assumed } from '../model/assumed.ts';
import {
  type Action,
  backwardPass,
  IDLE,
  type Layer,
  lookUp,
  type MarketChain,
  ON_DEMAND,
  rowFor,
  SPOT,
  type Terms,
} from './plan-pass.ts';

export interface PolicyJob extends Terms {
  /** These two do not change values, only how far a table must reach. */
  readonly workSeconds: number;
  readonly deadlineSeconds: number;
}

/** A state of the market, and the chance that it is the next. */
export interface StateChance {
  readonly state: number;
  readonly chance: number;
}

/** How a tick ends. */
interface TickEnd {
  readonly ran: Action;
  /** Seconds that can still be lost; start-up still owed counts as already lost. */
  readonly slack: number;
  /** Seconds of start-up still owed. A loss of capacity returns them as slack. */
  readonly debt: number;
}

export interface PolicyPlan extends Pick<PlanTable, 'value'> {
  readonly job: PolicyJob;
}

/** Plans that share tables: the last `mostTables` are kept. */
interface KeptOptions {
  /** Resolution of the slack axis. */
  readonly cellsPerTick: number;
  readonly mostTables: number;
  /** How much further a table reaches than its first job needs, as a share of the time to its deadline. */
  readonly spare: number;
}

/**
 * The looks at a run, and its next decisions, mostly ask for the same terms with less work and less time. A plan is equal
 * to the bit to one that is made for its job alone: slack never grows, so what a job can reach does not depend on cells
 * that only a wider one needs.
 * @param chainOf one step of this many seconds
 */
export function keptPlans(
  chainOf: (tickSeconds: number) => MarketChain,
  { mostTables, spare, cellsPerTick }: KeptOptions,
): (job: PolicyJob) => PolicyPlan {
  const kept: PlanTable[] = [];
  return (job) => {
    const at = kept.findIndex((each) => each.reaches(job));
    const [found] = at < 0 ? [] : kept.splice(at, 1);
    // Before the next is made: in the simulator one can take a gigabyte.
    kept.length = Math.min(kept.length, mostTables - 1);
    const wider = { ...job, deadlineSeconds: job.deadlineSeconds * (1 + spare) };
    const table = found ?? makeTable(chainOf(job.tickSeconds), wider, cellsPerTick);
    kept.unshift(table);
    return { value: table.value, job };
  };
}

const TERMS = ['tickSeconds', 'restartSeconds', 'spotUsd', 'onDemandUsd', 'waitingUsd'] as const;
const sameTerms = (a: Terms, b: Terms): boolean => TERMS.every((term) => a[term] === b[term]);

type PlanTable = ReturnType<typeof makeTable>;

/** The values of every situation that jobs on the same terms can come to. */
function makeTable(chain: MarketChain, job: PolicyJob, cellsPerTick: number) {
  const cellSeconds = job.tickSeconds / cellsPerTick;
  const reach = reachOf(job, cellSeconds);
  const pass = backwardPass(chain, job, { cells: reach.cells, cellSeconds });
  const layers: Layer[] = [];
  for (let ticksLeft = 0; ticksLeft < reach.ticks; ticksLeft += 1)
    layers.push(pass(layers.at(-1), ticksLeft));
  return {
    /** Whether the job is on these terms and can come to no situation without a value. */
    reaches(other: PolicyJob): boolean {
      const needed = reachOf(other, cellSeconds);
      return sameTerms(job, other) && needed.ticks <= reach.ticks && needed.cells <= reach.cells;
    },
    /**
     * Expected USD from the end of a tick: `ticksLeft` remain, and the market's next state is weighed by `weights`.
     * Between two whole numbers of ticks it is linear, at the same slack.
     * Infinite where the work cannot be done in time any more.
     */
    value: (ticksLeft: number, end: TickEnd, weights: readonly StateChance[]): number => {
      const whole = Math.floor(ticksLeft + 1e-9);
      const part = ticksLeft - whole;
      const at = (ticks: number): number => {
        const layer = layers[ticks];
        let total = 0;
        if (layer === undefined) return total;
        for (const { state, chance } of weights) {
          const lost = end.ran === SPOT && state >= chain.upStates;
          const slack = end.slack + (lost ? end.debt : 0);
          total += chance * lookUp(layer, rowFor(chain, state, end.ran), slack / cellSeconds);
        }
        return total;
      };
      return part < 1e-9 ? at(whole) : (1 - part) * at(whole) + part * at(whole + 1);
    },
  };
}

const reachOf = ({ deadlineSeconds, workSeconds, tickSeconds }: PolicyJob, cellSeconds: number) => ({
  ticks: Math.floor(deadlineSeconds / tickSeconds + 1e-9),
  cells: Math.ceil((deadlineSeconds - workSeconds) / cellSeconds) + 3,
});

// The expected cost of each action in the coming tick. The simulator's controller and the placement of an attempt both
// use it: the controller knows whether Spot has capacity, placement has only a belief and learns by asking.

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

interface Offer {
  readonly action: Action;
  /** To the end. */
  readonly expectedUsd: number;
}

const TOLERANCE = 1e-6;
const CERTAIN = 1e-9;

/**
 * Every safe action with its expected cost, the best first; On-Demand is always among them. SPOT means to ask for it;
 * without capacity the job waits for the tick.
 */
export function offers(plan: PolicyPlan, standing: PolicyState, observed: MarketBelief): readonly Offer[] {
  if (standing.ticksLeft < 1) return [{ action: ON_DEMAND, expectedUsd: 0 }];
  const { chance, ifThere, ifNot, spotUsd } = observed;
  const there = worths(plan, standing, ifThere, spotUsd);
  const not = worths(plan, standing, ifNot);
  const [mayBe, mayNot] = [chance > CERTAIN, chance < 1 - CERTAIN];
  const mean = (usd: number, otherwiseUsd: number): number =>
    (mayBe ? chance * usd : 0) + (mayNot ? (1 - chance) * otherwiseUsd : 0);
  const found: readonly Offer[] = [
    { action: IDLE, expectedUsd: mean(there.idle, not.idle) },
    { action: SPOT, expectedUsd: mayBe ? mean(there.spot, not.refused) : Number.POSITIVE_INFINITY },
    { action: ON_DEMAND, expectedUsd: mean(there.onDemand, not.onDemand) },
  ];
  return found
    .filter(({ expectedUsd }) => expectedUsd < Number.POSITIVE_INFINITY)
    .toSorted((a, b) => a.expectedUsd - b.expectedUsd);
}

/**
 * Infinite where an action is not safe: after every tick an On-Demand start must still end in time.
 * @param weights of the market's next state, with capacity in this tick for `spot`, and without for `refused`
 */
export function worths(
  plan: PolicyPlan,
  { ticksLeft, slack, runs, debt = 0 }: PolicyState,
  weights: readonly StateChance[],
  spotUsd = plan.job.spotUsd,
) {
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
    /** After a capacity error: the job waits for the tick or, where that is not safe, On-Demand begins. */
    refused: Number.isFinite(idle) ? idle : onDemand,
  };
}

// How far the comparison of a pool at hand with a cheaper one looks. Slack that outages of all pools will take cannot be
// spent on waiting; the rest is spread over the work.

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

/** @returns undefined where no slack is left to compare with */
export function comparedSpan(question: SpanQuestion) {
  const { tickSeconds, workLeft, lasting, mostWorkSeconds, mostSlackSeconds } = question;
  const kept = assumed.comparedStarts * question.restartSeconds + (question.secondsIfRefused ?? 0);
  const free = question.slack - kept - tickSeconds;
  if (free < 0 || workLeft <= 0) return undefined;
  const toWait = lasting > 0 ? Math.max(0, free - (workLeft * (1 - lasting)) / lasting) : 0;
  const work = Math.min(workLeft, mostWorkSeconds);
  const inTicks = (seconds: number): number => Math.ceil(seconds / tickSeconds - 1e-9) * tickSeconds;
  // In whole ticks, as billed: with part of a tick, work that ends in this tick would seem done and waiting free.
  return {
    workSeconds: inTicks(work),
    slackSeconds: inTicks(Math.min((toWait * work) / workLeft + kept, mostSlackSeconds)),
    mayWait: toWait > 0,
  };
}
