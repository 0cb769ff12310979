/**
 * The plan of a job: the least expected cost from every situation it can come to, by one backward pass over time.
 * A situation is ticks left, slack (time that can still be lost), what ran last, and the state of the market.
 * Deadline safety is in what is allowed, not in the values: after every tick an On-Demand start must still end in time.
 */
import { type Action, IDLE, ON_DEMAND, SPOT } from './actions.ts';

/** A market that moves by itself from state to state, one step a tick. The first `upStates` states have Spot capacity. */
export interface MarketChain {
  readonly upStates: number;
  /** Row by row, the chance of each next state; rows sum to 1. */
  readonly step: readonly (readonly number[])[];
}

export interface Job {
  readonly tickSeconds: number;
  readonly workSeconds: number;
  readonly deadlineSeconds: number;
  /** From the start of billing to the first progress, lost work included. */
  readonly restartSeconds: number;
  /** Per hour, for the whole gang. */
  readonly spotUsd: number;
  readonly onDemandUsd: number;
}

export interface PlanOptions {
  /** Resolution of the slack axis: cells per tick. */
  readonly cellsPerTick: number;
  /** The plan takes restarts as this much dearer, a little caution against flicker. */
  readonly restartFactor: number;
}

export const DEFAULT_OPTIONS: PlanOptions = { cellsPerTick: 4, restartFactor: 1.1 };

export interface Plan {
  readonly ticks: number;
  readonly chain: MarketChain;
  readonly job: Job;
  /**
   * Expected USD from the end of a tick: `ticksLeft` remain, `slack` seconds can still be lost, `ran` ran, and the
   * market's next state is weighed by `weights`. Infinite where the work cannot be done in time any more.
   */
  value(ticksLeft: number, ran: Action, slack: number, weights: readonly number[]): number;
}

const UNREACHABLE = 1e9;

interface Grid {
  readonly cells: number;
  readonly cellSeconds: number;
  /** First cell at or above so many seconds of slack. */
  readonly at: (seconds: number) => number;
}

export function makePlan(chain: MarketChain, job: Job, options: PlanOptions = DEFAULT_OPTIONS): Plan {
  const cellSeconds = job.tickSeconds / options.cellsPerTick;
  const cells = Math.ceil((job.deadlineSeconds - job.workSeconds) / cellSeconds) + 3;
  const at = (seconds: number): number =>
    Math.min(cells, Math.max(0, Math.ceil(seconds / cellSeconds - 1e-6)));
  const grid: Grid = { cells, cellSeconds, at };
  const ticks = Math.floor(job.deadlineSeconds / job.tickSeconds + 1e-9);
  const states = chain.step.length;
  const layers: Float32Array[] = [new Float32Array(states * 3 * cells)];
  const pass = backwardPass(chain, job, options, grid);
  for (let ticksLeft = 1; ticksLeft < ticks; ticksLeft += 1) {
    layers.push(pass(layers[ticksLeft - 1] ?? new Float32Array(0), ticksLeft));
  }
  return {
    ticks,
    chain,
    job,
    value: (ticksLeft, ran, slack, weights) =>
      interpolate(layers[ticksLeft] ?? new Float32Array(0), grid, slack, {
        weights,
        ran,
        upStates: chain.upStates,
      }),
  };
}

/** A job on Spot whose capacity is gone has nothing running. */
const rowOf = (state: number, ran: Action, upStates: number): number =>
  state * 3 + (ran === SPOT && state >= upStates ? IDLE : ran);

function interpolate(
  layer: Float32Array,
  { cells, cellSeconds }: Grid,
  slack: number,
  next: { readonly weights: readonly number[]; readonly ran: Action; readonly upStates: number },
): number {
  const position = Math.max(0, slack) / cellSeconds;
  const cell = Math.min(Math.floor(position), cells - 2);
  const fraction = Math.min(1, position - cell);
  let total = 0;
  for (let state = 0; state < next.weights.length; state += 1) {
    const weight = next.weights[state] ?? 0;
    if (weight < 1e-9) continue;
    const start = rowOf(state, next.ran, next.upStates) * cells + cell;
    const low = layer[start] ?? UNREACHABLE;
    const value = low > UNREACHABLE / 10 ? low : low + ((layer[start + 1] ?? low) - low) * fraction;
    total += weight * value;
  }
  return total;
}

/** Values with `ticksLeft` ticks left from those with one less. */
function backwardPass(chain: MarketChain, job: Job, options: PlanOptions, grid: Grid) {
  const { cells, at } = grid;
  const { upStates } = chain;
  const restart = job.restartSeconds;
  const planned = restart * options.restartFactor;
  const spotTick = (job.spotUsd * job.tickSeconds) / 3_600;
  const onDemandTick = (job.onDemandUsd * job.tickSeconds) / 3_600;
  const live = chain.step.map((row) =>
    row.flatMap((share, state) => (share > 1e-7 ? [{ state, share }] : [])),
  );
  const expected = [new Float64Array(cells), new Float64Array(cells), new Float64Array(cells)] as const;
  const costs: TickCosts = {
    waiting: new Float64Array(cells),
    freshSpot: new Float64Array(cells),
    stayingSpot: new Float64Array(cells),
    freshOnDemand: new Float64Array(cells),
    stayingOnDemand: new Float64Array(cells),
  };
  const spotCosts = (ticksLeft: number): void => {
    const end = (ticksLeft - 1) * job.tickSeconds;
    const fresh = { seconds: planned, first: Math.min(at(2 * restart), at(end + restart)), add: spotTick };
    shift(costs.freshSpot, expected[SPOT], fresh, grid);
    shift(
      costs.stayingSpot,
      expected[SPOT],
      { seconds: 0, first: Math.min(at(restart), at(end)), add: spotTick },
      grid,
    );
  };
  return (previous: Float32Array, ticksLeft: number): Float32Array => {
    const layer = new Float32Array(previous.length);
    const done = Math.min(cells, at(ticksLeft * job.tickSeconds));
    const stop = onDemandTick * ticksLeft + HOPELESS_USD;
    for (let state = 0; state < chain.step.length; state += 1) {
      const up = state < upStates;
      for (const ran of [IDLE, SPOT, ON_DEMAND] as const) {
        if (up || ran !== SPOT) expect(expected[ran], previous, live[state] ?? [], { ran, upStates, cells });
      }
      const wait = { seconds: job.tickSeconds, first: at(restart + job.tickSeconds), add: 0 };
      shift(costs.waiting, expected[IDLE], wait, grid);
      shift(
        costs.freshOnDemand,
        expected[ON_DEMAND],
        { seconds: planned, first: at(restart), add: onDemandTick },
        grid,
      );
      shift(costs.stayingOnDemand, expected[ON_DEMAND], { seconds: 0, first: 0, add: onDemandTick }, grid);
      if (up) spotCosts(ticksLeft);
      else costs.freshSpot.fill(UNREACHABLE);
      takeCheapest(layer, costs, { base: state * 3 * cells, cells, done, stop, up });
    }
    return layer;
  };
}

/** What each action of this tick leads to, by slack. */
interface TickCosts {
  readonly waiting: Float64Array;
  readonly freshSpot: Float64Array;
  readonly stayingSpot: Float64Array;
  readonly freshOnDemand: Float64Array;
  readonly stayingOnDemand: Float64Array;
}

/** Dearer than any schedule, cheaper than what cannot be reached: where not even On-Demand ends in time. */
const HOPELESS_USD = 1_000;

function takeCheapest(
  layer: Float32Array,
  costs: TickCosts,
  at: {
    readonly base: number;
    readonly cells: number;
    readonly done: number;
    readonly stop: number;
    readonly up: boolean;
  },
): void {
  const { base, cells } = at;
  for (let cell = 0; cell < at.done; cell += 1) {
    const waiting = costs.waiting[cell] ?? UNREACHABLE;
    const fresh = Math.min(waiting, costs.freshOnDemand[cell] ?? UNREACHABLE, at.stop);
    const spot = costs.freshSpot[cell] ?? UNREACHABLE;
    layer[base + cell] = Math.min(fresh, spot);
    layer[base + 2 * cells + cell] = Math.min(waiting, spot, costs.stayingOnDemand[cell] ?? UNREACHABLE);
    if (at.up) layer[base + cells + cell] = Math.min(fresh, costs.stayingSpot[cell] ?? UNREACHABLE);
  }
}

function expect(
  out: Float64Array,
  previous: Float32Array,
  next: readonly { readonly state: number; readonly share: number }[],
  { ran, upStates, cells }: { readonly ran: Action; readonly upStates: number; readonly cells: number },
): void {
  out.fill(0);
  for (const { state, share } of next) {
    const start = rowOf(state, ran, upStates) * cells;
    for (let cell = 0; cell < cells; cell += 1)
      out[cell] = (out[cell] ?? 0) + share * (previous[start + cell] ?? 0);
  }
}

/** out[s] = values[s - seconds] + add, and unreachable below the cell `first`. */
function shift(
  out: Float64Array,
  values: Float64Array,
  by: { readonly seconds: number; readonly first: number; readonly add: number },
  { cells, cellSeconds }: Grid,
): void {
  const distance = by.seconds / cellSeconds;
  const whole = Math.floor(distance + 1e-9);
  const rest = distance - whole < 1e-6 ? 0 : distance - whole;
  const base = whole + (rest > 0 ? 1 : 0);
  const first = Math.min(cells, Math.max(by.first, base));
  out.fill(UNREACHABLE, 0, first);
  for (let cell = first; cell < cells; cell += 1) {
    const low = values[cell - base] ?? 0;
    const high = values[cell - base + 1] ?? low;
    out[cell] = low + (rest > 0 ? (high - low) * (1 - rest) : 0) + by.add;
  }
}
