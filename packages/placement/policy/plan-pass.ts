/**
 * One step back in time: the value of every situation with one more tick left. The values of one moment are a layer: a row
 * for each situation, a cell for each step of slack.
 */

/** What a job does in one tick of time. Numbers, because plans are arrays indexed by them. */
export const IDLE = 0;
export const SPOT = 1;
export const ON_DEMAND = 2;
export type Action = typeof IDLE | typeof SPOT | typeof ON_DEMAND;

const UNREACHABLE = 1e9;

export interface Layer {
  readonly values: Float32Array;
  /** Cells of a row; with more slack than the last of them the job is done, which costs nothing more. */
  readonly width: number;
}

/** States with capacity have a row for each of: nothing runs, Spot runs, On-Demand runs. The others have no row for Spot. */
export interface Rows {
  readonly upStates: number;
  readonly count: number;
  of(state: number, ran: Action): number;
}

const ACTIONS = 3;
const WITHOUT_SPOT = 2;

export function rowsFor(upStates: number, states: number): Rows {
  const firstDown = upStates * ACTIONS;
  return {
    upStates,
    count: firstDown + (states - upStates) * WITHOUT_SPOT,
    of: (state, ran) =>
      state < upStates
        ? state * ACTIONS + ran
        : firstDown + (state - upStates) * WITHOUT_SPOT + (ran === ON_DEMAND ? 1 : 0),
  };
}

/** The value at a place on the slack axis, in cells; between two cells linearly. */
export function lookUp({ values, width }: Layer, row: number, position: number): number {
  const cell = Math.min(Math.floor(Math.max(0, position)), width - 1);
  const low = values[row * width + cell] ?? UNREACHABLE;
  if (low > UNREACHABLE / 10) return low;
  const high = cell + 1 < width ? (values[row * width + cell + 1] ?? 0) : 0;
  return low + (high - low) * Math.min(1, Math.max(0, position) - cell);
}

/** A sum of rows of a layer by their shares, prepared once for all layers. */
type Mixture = readonly { readonly row: number; readonly share: number }[];

/**
 * out[s] = from[s] + share x row, row after row, as far as they go; 0 beyond, where the job is done. Counted loops: with
 * `for of` a plan takes half as long again.
 * @param from as wide as the widest layer, like `out`; they may be the same array
 */
function addRows(out: Float64Array, from: Float64Array, { values, width }: Layer, rows: Mixture): void {
  out.fill(0, width);
  let sum = from;
  for (let k = 0; k < rows.length; k += 1) {
    const { row = 0, share = 0 } = rows[k] ?? {};
    const start = row * width;
    for (let cell = 0; cell < width; cell += 1)
      out[cell] = (sum[cell] ?? 0) + share * (values[start + cell] ?? 0);
    sum = out;
  }
  if (sum !== out) out.set(from);
}

/** A market that moves by itself from state to state, one step a tick. The first `upStates` states have Spot capacity. */
export interface MarketChain {
  readonly upStates: number;
  /** Row by row, the chance of each next state; rows sum to 1. */
  readonly step: readonly (readonly number[])[];
}

/** The inputs of a plan's values besides the market. */
export interface Terms {
  readonly tickSeconds: number;
  /** From the start of billing to the first progress, lost work included. */
  readonly restartSeconds: number;
  /** Per hour, for the whole gang. */
  readonly spotUsd: number;
  readonly onDemandUsd: number;
  /** The cost of an hour in which nothing runs, where time has a value; the prices above then include it too. */
  readonly waitingUsd?: number | undefined;
}

export interface PassGrid {
  /** The most of slack. */
  readonly cells: number;
  readonly cellSeconds: number;
  readonly rows: Rows;
}

/** Where not even On-Demand ends in time: more expensive than any schedule, cheaper than an unreachable cell. */
const MISSED_DEADLINE_USD = 1_000;

/** A move along the slack axis: out[s] = values[s - seconds] + add, and unreachable below the cell `first`. */
interface Move {
  readonly base: number;
  /** Of the way from the cell `s - base` to the one above it. */
  readonly above: number;
  readonly first: number;
  readonly add: number;
}

/** @param distance in cells */
function moveBy(distance: number, first: number, add: number): Move {
  const whole = Math.floor(distance + 1e-9);
  const rest = distance - whole < 1e-6 ? 0 : distance - whole;
  const base = whole + (rest > 0 ? 1 : 0);
  return { base, above: rest > 0 ? 1 - rest : 0, first: Math.max(first, base), add };
}

/** The first `cells` cells of `out`. */
function moveInto(
  out: Float64Array,
  values: Float64Array,
  { base, above, first, add }: Move,
  cells: number,
): void {
  const begin = Math.min(first, cells);
  out.fill(UNREACHABLE, 0, begin);
  if (above > 0)
    for (let cell = begin; cell < cells; cell += 1) {
      const low = values[cell - base] ?? 0;
      out[cell] = low + ((values[cell - base + 1] ?? 0) - low) * above + add;
    }
  else for (let cell = begin; cell < cells; cell += 1) out[cell] = (values[cell - base] ?? 0) + add;
}

/** Chances below this are left out of every expectation. */
const LEAST_SHARE = 1e-7;

/** The next states of each running action, weighted by the market's transition chances from one state. */
function mixturesFrom(chances: readonly number[], rows: Rows) {
  const mixed = (isOf: (state: number) => boolean, rowOf: (state: number) => number): Mixture =>
    chances.flatMap((share, state) =>
      share > LEAST_SHARE && isOf(state) ? [{ row: rowOf(state), share }] : [],
    );
  const isUp = (state: number): boolean => state < rows.upStates;
  const idle = (state: number): number => rows.of(state, IDLE);
  const onDemand = (state: number): number => rows.of(state, ON_DEMAND);
  return {
    idleDown: mixed((state) => !isUp(state), idle),
    idleUp: mixed(isUp, idle),
    onDemand: mixed(() => true, onDemand),
    spotUp: mixed(isUp, (state) => rows.of(state, SPOT)),
  };
}

/** Expectations over the market's next step for each running action; the arrays are reused for each state. */
function expectations(chain: MarketChain, { cells, rows }: PassGrid) {
  const next = chain.step.map((chances) => mixturesFrom(chances, rows));
  const blank = (): Float64Array => new Float64Array(cells + 1);
  const [zero, down, idle, onDemand, spot] = [blank(), blank(), blank(), blank(), blank()];
  const look = (layer: Layer, state: number): void => {
    const here = next[state];
    if (here === undefined) return;
    addRows(down, zero, layer, here.idleDown);
    addRows(idle, down, layer, here.idleUp);
    addRows(onDemand, zero, layer, here.onDemand);
    if (state < rows.upStates) addRows(spot, down, layer, here.spotUp);
  };
  /** Values of this tick's actions; reused for each state as well. */
  const worth = { wait: blank(), demand: blank(), start: blank(), withoutSpot: blank() };
  return { look, idle, onDemand, spot, worth };
}

/** How a tick's actions change the slack, with `ticksLeft` left. */
interface Moves {
  readonly wait: Move;
  readonly demand: Move;
  readonly start: Move;
  /** First cell from which staying on Spot is safe. */
  readonly staying: number;
  readonly spotTick: number;
  readonly onDemandTick: number;
  readonly stop: number;
}

function movesOf(job: Terms, { cells, cellSeconds }: PassGrid): (ticksLeft: number) => Moves {
  const { restartSeconds: restart, tickSeconds } = job;
  const at = (seconds: number): number => cellAt(seconds, cellSeconds, cells);
  const spotTick = (job.spotUsd * tickSeconds) / 3_600;
  const onDemandTick = (job.onDemandUsd * tickSeconds) / 3_600;
  const waitTick = ((job.waitingUsd ?? 0) * tickSeconds) / 3_600;
  const wait = moveBy(tickSeconds / cellSeconds, at(restart + tickSeconds), waitTick);
  const demand = moveBy(restart / cellSeconds, at(restart), onDemandTick);
  return (ticksLeft) => {
    const end = (ticksLeft - 1) * tickSeconds;
    return {
      wait,
      demand,
      start: moveBy(restart / cellSeconds, Math.min(at(2 * restart), at(end + restart)), spotTick),
      staying: Math.min(at(restart), at(end)),
      spotTick,
      onDemandTick,
      stop: onDemandTick * ticksLeft + MISSED_DEADLINE_USD,
    };
  };
}

const cellAt = (seconds: number, cellSeconds: number, cells: number): number =>
  Math.min(cells, Math.max(0, Math.ceil(seconds / cellSeconds - 1e-6)));

export function backwardPass(
  chain: MarketChain,
  job: Terms,
  grid: PassGrid,
): (previous: Layer | undefined, ticksLeft: number) => Layer {
  const { cells, cellSeconds, rows } = grid;
  const expected = expectations(chain, grid);
  const movesAt = movesOf(job, grid);
  return (previous, ticksLeft) => {
    const width = cellAt(ticksLeft * job.tickSeconds, cellSeconds, cells) + 1;
    const layer: Layer = { values: new Float32Array(rows.count * width), width };
    if (previous === undefined) return layer;
    const moves = movesAt(ticksLeft);
    for (let state = 0; state < chain.step.length; state += 1) {
      expected.look(previous, state);
      const task = { rows, expected, moves, state };
      weighWithoutSpot(layer, task);
      if (state < rows.upStates) settleWithSpot(layer, task);
      else settleWithoutSpot(layer, task);
    }
    return layer;
  };
}

interface StateTask {
  readonly rows: Rows;
  readonly expected: ReturnType<typeof expectations>;
  readonly moves: Moves;
  readonly state: number;
}

/** The cost of waiting, and of going on without Spot when nothing or Spot runs. */
function weighWithoutSpot({ width }: Layer, { expected, moves }: StateTask): void {
  const { wait, demand, withoutSpot } = expected.worth;
  const cells = width - 1;
  moveInto(wait, expected.idle, moves.wait, cells);
  moveInto(demand, expected.onDemand, moves.demand, cells);
  const { stop } = moves;
  for (let cell = 0; cell < cells; cell += 1)
    withoutSpot[cell] = Math.min(wait[cell] ?? 0, demand[cell] ?? 0, stop);
}

/** The cheapest action by what runs, where there is no capacity. */
function settleWithoutSpot({ values, width }: Layer, { rows, expected, moves, state }: StateTask): void {
  const { onDemand, worth } = expected;
  const { wait, withoutSpot } = worth;
  const idleRow = rows.of(state, IDLE) * width;
  const demandRow = rows.of(state, ON_DEMAND) * width;
  for (let cell = 0; cell < width - 1; cell += 1) {
    values[idleRow + cell] = withoutSpot[cell] ?? 0;
    values[demandRow + cell] = Math.min(wait[cell] ?? 0, (onDemand[cell] ?? 0) + moves.onDemandTick);
  }
}

/** The same where there is. */
function settleWithSpot({ values, width }: Layer, { rows, expected, moves, state }: StateTask): void {
  const { onDemand, spot, worth } = expected;
  const { wait, start, withoutSpot } = worth;
  moveInto(start, spot, moves.start, width - 1);
  const idleRow = rows.of(state, IDLE) * width;
  const demandRow = rows.of(state, ON_DEMAND) * width;
  const spotRow = rows.of(state, SPOT) * width;
  for (let cell = 0; cell < width - 1; cell += 1) {
    const without = withoutSpot[cell] ?? 0;
    const fresh = start[cell] ?? 0;
    const stay = cell < moves.staying ? UNREACHABLE : (spot[cell] ?? 0) + moves.spotTick;
    values[idleRow + cell] = Math.min(without, fresh);
    values[demandRow + cell] = Math.min(wait[cell] ?? 0, fresh, (onDemand[cell] ?? 0) + moves.onDemandTick);
    values[spotRow + cell] = Math.min(without, stay);
  }
}
