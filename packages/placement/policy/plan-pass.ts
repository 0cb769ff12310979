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

/**
 * Two rows for each state, where nothing and where On-Demand runs; after them one for each with capacity, where Spot runs.
 * Without capacity Spot has the row of a job that is idle.
 */
export const rowFor = ({ upStates, step }: MarketChain, state: number, ran: Action): number =>
  ran === SPOT && state < upStates ? 2 * step.length + state : 2 * state + (ran === ON_DEMAND ? 1 : 0);

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
 * out[s] = from[s] + share x row, row after row, as far as they go; 0 beyond, where the job is done. Counted loops, here
 * and around it: with `for of` a plan takes half as long again.
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

interface PassGrid {
  /** The most of slack. */
  readonly cells: number;
  readonly cellSeconds: number;
}

/** Where not even On-Demand ends in time: more expensive than any schedule, cheaper than an unreachable cell. */
const MISSED_DEADLINE_USD = 1_000;

/**
 * What an action costs, and the slack that it takes: `base` cells less the share `above`; unreachable below `first`.
 * @param distance in cells
 */
function moveBy(distance: number, first: number, add: number) {
  const whole = Math.floor(distance + 1e-9);
  const rest = distance - whole < 1e-6 ? 0 : distance - whole;
  const base = whole + (rest > 0 ? 1 : 0);
  return { base, above: rest > 0 ? 1 - rest : 0, first: Math.max(first, base), add };
}

type Move = ReturnType<typeof moveBy>;

function moved(values: Float64Array, { base, above, first, add }: Move, cell: number): number {
  if (cell < first) return UNREACHABLE;
  const low = values[cell - base] ?? 0;
  return above > 0 ? low + ((values[cell - base + 1] ?? 0) - low) * above + add : low + add;
}

/** The actions of a tick, with `ticksLeft` left. */
function movesOf(job: Terms, { cells, cellSeconds }: PassGrid) {
  const { restartSeconds: restart, tickSeconds, waitingUsd = 0 } = job;
  const at = (seconds: number): number => cellAt(seconds, cellSeconds, cells);
  const tick = (hourlyUsd: number): number => (hourlyUsd * tickSeconds) / 3_600;
  const [spotTick, onDemandTick] = [tick(job.spotUsd), tick(job.onDemandUsd)];
  const wait = moveBy(tickSeconds / cellSeconds, at(restart + tickSeconds), tick(waitingUsd));
  const demand = moveBy(restart / cellSeconds, at(restart), onDemandTick);
  return (ticksLeft: number) => {
    const end = (ticksLeft - 1) * tickSeconds;
    return {
      wait,
      demand,
      start: moveBy(restart / cellSeconds, Math.min(at(2 * restart), at(end + restart)), spotTick),
      /** First cell from which staying on Spot is safe. */
      staying: Math.min(at(restart), at(end)),
      spotTick,
      onDemandTick,
      stop: onDemandTick * ticksLeft + MISSED_DEADLINE_USD,
    };
  };
}

const cellAt = (seconds: number, cellSeconds: number, cells: number): number =>
  Math.min(cells, Math.max(0, Math.ceil(seconds / cellSeconds - 1e-6)));

/** Chances below this are left out of every expectation. */
const LEAST_SHARE = 1e-7;

/** The next states of each running action, weighted by the market's transition chances from one state. */
function mixturesFrom(chances: readonly number[], chain: MarketChain) {
  const mixed = (ran: Action, isOf: (isUp: boolean) => boolean): Mixture =>
    chances.flatMap((share, state) =>
      share > LEAST_SHARE && isOf(state < chain.upStates) ? [{ row: rowFor(chain, state, ran), share }] : [],
    );
  return {
    idleDown: mixed(IDLE, (isUp) => !isUp),
    idleUp: mixed(IDLE, (isUp) => isUp),
    onDemand: mixed(ON_DEMAND, () => true),
    spotUp: mixed(SPOT, (isUp) => isUp),
  };
}

export function backwardPass(
  chain: MarketChain,
  job: Terms,
  grid: PassGrid,
): (previous: Layer | undefined, ticksLeft: number) => Layer {
  const { cells, cellSeconds } = grid;
  const mixtures = chain.step.map((chances) => mixturesFrom(chances, chain));
  const rows = 2 * chain.step.length + chain.upStates;
  const movesAt = movesOf(job, grid);
  const blank = (): Float64Array => new Float64Array(cells + 1);
  const [zero, down] = [blank(), blank()];
  const expected = { idle: blank(), onDemand: blank(), spot: blank() };
  return (previous, ticksLeft) => {
    const width = cellAt(ticksLeft * job.tickSeconds, cellSeconds, cells) + 1;
    const layer: Layer = { values: new Float32Array(rows * width), width };
    if (previous === undefined) return layer;
    const moves = movesAt(ticksLeft);
    for (let state = 0; state < mixtures.length; state += 1) {
      const next = mixtures[state];
      if (next === undefined) continue;
      addRows(down, zero, previous, next.idleDown);
      addRows(expected.idle, down, previous, next.idleUp);
      addRows(expected.onDemand, zero, previous, next.onDemand);
      if (state < chain.upStates) addRows(expected.spot, down, previous, next.spotUp);
      settle(layer, state, { chain, expected, moves });
    }
    return layer;
  };
}

interface Weighed {
  readonly chain: MarketChain;
  /** By what runs, over the market's next step. */
  readonly expected: Readonly<Record<'idle' | 'onDemand' | 'spot', Float64Array>>;
  readonly moves: ReturnType<ReturnType<typeof movesOf>>;
}

/** The cheapest action in one state of the market, by what runs. */
function settle({ values, width }: Layer, state: number, { chain, expected, moves }: Weighed): void {
  const { idle, onDemand, spot } = expected;
  const isUp = state < chain.upStates;
  const at = (ran: Action): number => rowFor(chain, state, ran) * width;
  const [idleRow, demandRow, spotRow] = [at(IDLE), at(ON_DEMAND), at(SPOT)];
  for (let cell = 0; cell < width - 1; cell += 1) {
    const wait = moved(idle, moves.wait, cell);
    const without = Math.min(wait, moved(onDemand, moves.demand, cell), moves.stop);
    const fresh = isUp ? moved(spot, moves.start, cell) : Number.POSITIVE_INFINITY;
    values[idleRow + cell] = Math.min(without, fresh);
    values[demandRow + cell] = Math.min(wait, fresh, (onDemand[cell] ?? 0) + moves.onDemandTick);
    if (!isUp) continue;
    const stay = cell < moves.staying ? UNREACHABLE : (spot[cell] ?? 0) + moves.spotTick;
    values[spotRow + cell] = Math.min(without, stay);
  }
}
