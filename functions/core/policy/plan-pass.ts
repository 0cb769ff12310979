/** One step back in time: what every situation is worth with one tick more left. */
import { IDLE, ON_DEMAND, SPOT } from './actions.ts';
import type { MarketChain, Terms } from './plan.ts';
import { addRows, type Layer, type Rows, UNREACHABLE } from './plan-layer.ts';

export interface PassGrid {
  /** Of slack, by ticks left; the first are the most. */
  readonly cells: Int32Array;
  readonly cellSeconds: number;
  readonly rows: Rows;
}

/** Dearer than any schedule, cheaper than what cannot be reached: where not even On-Demand ends in time. */
const HOPELESS_USD = 1_000;

/** A move along the slack axis: out[s] = values[s - seconds] + add, and unreachable below the cell `first`. */
interface Move {
  readonly base: number;
  /** Between the cell `s - base` and the one above it. */
  readonly above: number;
  readonly first: number;
  readonly add: number;
}

function moveBy(
  seconds: number,
  cellSeconds: number,
  to: { readonly first: number; readonly add: number },
): Move {
  const distance = seconds / cellSeconds;
  const whole = Math.floor(distance + 1e-9);
  const rest = distance - whole < 1e-6 ? 0 : distance - whole;
  const base = whole + (rest > 0 ? 1 : 0);
  return { base, above: rest > 0 ? 1 - rest : 0, first: Math.max(to.first, base), add: to.add };
}

function moved(values: Float64Array, cell: number, { base, above, first, add }: Move): number {
  if (cell < first) return UNREACHABLE;
  const low = values[cell - base] ?? 0;
  return (above > 0 ? low + ((values[cell - base + 1] ?? 0) - low) * above : low) + add;
}

/** Rows of the next states with or without capacity, and the chance of each. */
interface Next {
  readonly rows: Int32Array;
  readonly shares: Float64Array;
}

/** Expectations over the market's next step, by what runs; the same arrays are filled anew for each state. */
function expectations(chain: MarketChain, { cells, cellSeconds, rows }: PassGrid) {
  const { upStates, debts } = rows;
  const most = cells[0] ?? 0;
  const nextOf = (row: readonly number[], up: boolean, rowOf: (state: number) => number): Next => {
    const live = row.flatMap((share, state) =>
      share > 1e-7 && state < upStates === up ? [{ state, share }] : [],
    );
    return {
      rows: Int32Array.from(live, ({ state }) => rowOf(state)),
      shares: Float64Array.from(live, ({ share }) => share),
    };
  };
  const next = chain.step.map((row) => ({
    idleDown: nextOf(row, false, (state) => rows.of(state, IDLE)),
    idleUp: nextOf(row, true, (state) => rows.of(state, IDLE)),
    demandUp: nextOf(row, true, (state) => rows.of(state, ON_DEMAND)),
    demandDown: nextOf(row, false, (state) => rows.of(state, ON_DEMAND)),
    spotUp: nextOf(row, true, (state) => rows.of(state, SPOT)),
    startingUp: debts.map((_, phase) => nextOf(row, true, (state) => rows.of(state, SPOT, phase))),
  }));
  const blank = (): Float64Array => new Float64Array(most + 1);
  const [down, idle, onDemand, spot] = [blank(), blank(), blank(), blank()];
  const starting = debts.map((debt) => ({ values: blank(), back: Math.floor(debt / cellSeconds + 1e-9) }));
  const add = (out: Float64Array, layer: Layer, which: Next): void =>
    addRows(out, layer, which.rows, which.shares);
  const look = (layer: Layer, state: number): void => {
    const here = next[state];
    if (here === undefined) return;
    add(down.fill(0), layer, here.idleDown);
    idle.set(down);
    add(idle, layer, here.idleUp);
    add(onDemand.fill(0), layer, here.demandUp);
    add(onDemand, layer, here.demandDown);
    if (state >= upStates) return;
    spot.set(down);
    add(spot, layer, here.spotUp);
    for (const [phase, { values, back }] of starting.entries()) {
      // Lost while it starts: what is still owed comes back as slack.
      values.fill(0);
      values.set(down.subarray(Math.min(back, most)));
      add(values, layer, here.startingUp[phase] ?? here.spotUp);
    }
  };
  return { look, idle, onDemand, spot, starting, withoutSpot: blank() };
}

/** What the actions of a tick do to the slack, with so many ticks left. */
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
  const at = (seconds: number): number => cellAt(seconds, cellSeconds, cells[0] ?? 0);
  const move = (seconds: number, first: number, add: number): Move =>
    moveBy(seconds, cellSeconds, { first, add });
  const spotTick = (job.spotUsd * tickSeconds) / 3_600;
  const onDemandTick = (job.onDemandUsd * tickSeconds) / 3_600;
  const wait = move(tickSeconds, at(restart + tickSeconds), ((job.waitingUsd ?? 0) * tickSeconds) / 3_600);
  const demand = move(restart, at(restart), onDemandTick);
  return (ticksLeft) => {
    const end = (ticksLeft - 1) * tickSeconds;
    return {
      wait,
      demand,
      start: move(restart, Math.min(at(2 * restart), at(end + restart)), spotTick),
      staying: Math.min(at(restart), at(end)),
      spotTick,
      onDemandTick,
      stop: onDemandTick * ticksLeft + HOPELESS_USD,
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
    const width = cellAt(ticksLeft * job.tickSeconds, cellSeconds, cells[ticksLeft] ?? 0) + 1;
    const layer: Layer = { values: new Float32Array(rows.count * width), width };
    if (previous === undefined) return layer;
    const moves = movesAt(ticksLeft);
    for (let state = 0; state < chain.step.length; state += 1) {
      expected.look(previous, state);
      const withoutSpot = settle(layer, { rows, expected, moves, state });
      if (state < rows.upStates) settleStarts(layer, { rows, expected, moves, state }, withoutSpot);
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

/** The cheapest action by what runs; returns what it costs to go on without Spot. */
function settle(layer: Layer, { rows, expected, moves, state }: StateTask): Float64Array {
  const { values, width } = layer;
  const { idle, onDemand, spot, withoutSpot } = expected;
  const up = state < rows.upStates;
  const begun = expected.starting[0]?.values ?? spot;
  const idleRow = rows.of(state, IDLE) * width;
  const demandRow = rows.of(state, ON_DEMAND) * width;
  const spotRow = rows.of(state, SPOT) * width;
  for (let cell = 0; cell < width - 1; cell += 1) {
    const waiting = moved(idle, cell, moves.wait);
    const without = Math.min(waiting, moved(onDemand, cell, moves.demand), moves.stop);
    const fresh = up ? moved(begun, cell, moves.start) : UNREACHABLE;
    withoutSpot[cell] = without;
    values[idleRow + cell] = Math.min(without, fresh);
    values[demandRow + cell] = Math.min(waiting, fresh, (onDemand[cell] ?? 0) + moves.onDemandTick);
    if (!up) continue;
    const stay = cell < moves.staying ? UNREACHABLE : (spot[cell] ?? 0) + moves.spotTick;
    values[spotRow + cell] = Math.min(without, stay);
  }
  return withoutSpot;
}

/** The same for a start that still owes something: whoever leaves it has the rest back as slack. */
function settleStarts(
  { values, width }: Layer,
  { rows, expected, moves, state }: StateTask,
  withoutSpot: Float64Array,
): void {
  for (const [phase, { back }] of expected.starting.entries()) {
    const after = expected.starting[phase + 1]?.values ?? expected.spot;
    const row = rows.of(state, SPOT, phase) * width;
    for (let cell = 0; cell < width - 1; cell += 1) {
      const left = withoutSpot[Math.min(width - 2, cell + back)] ?? UNREACHABLE;
      const stay = cell < moves.staying ? UNREACHABLE : (after[cell] ?? 0) + moves.spotTick;
      values[row + cell] = Math.min(left, stay);
    }
  }
}
