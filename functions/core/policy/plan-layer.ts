/** Where a plan keeps the values of one moment: a row for each situation, a cell for each step of slack. */
import { type Action, ON_DEMAND } from './actions.ts';

export const UNREACHABLE = 1e9;

export interface Layer {
  readonly values: Float32Array;
  /** Cells of a row; with more slack than the last of them the job is done, which costs nothing more. */
  readonly width: number;
}

/**
 * States with capacity have a row for each of: nothing runs, Spot runs, On-Demand runs, and Spot still starts (one for
 * each debt that a tick can find); states without capacity have no Spot rows.
 */
export interface Rows {
  readonly upStates: number;
  readonly count: number;
  /** Seconds that a start still owes after its first, second, ... tick. */
  readonly debts: readonly number[];
  /** @param phase index into `debts`, below 0 for what owes nothing */
  of(state: number, ran: Action, phase?: number): number;
}

const ACTIONS = 3;
const WITHOUT_SPOT = 2;

export function rowsFor(
  { upStates, states }: { readonly upStates: number; readonly states: number },
  debts: readonly number[],
): Rows {
  const perUp = ACTIONS + debts.length;
  const firstDown = upStates * perUp;
  return {
    upStates,
    debts,
    count: firstDown + (states - upStates) * WITHOUT_SPOT,
    of: (state, ran, phase = -1) =>
      state < upStates
        ? state * perUp + (phase < 0 ? ran : ACTIONS + phase)
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

/**
 * out[s] += share x row, row after row, as far as they go. Four rows at once, added in the same order as one by one: `out`
 * is read and written a quarter as often, and a plan takes a third less time.
 */
export function addRows(out: Float64Array, layer: Layer, rows: Int32Array, shares: Float64Array): void {
  const termOf = (k: number): Term => [(rows[k] ?? 0) * layer.width, shares[k] ?? 0];
  let k = 0;
  for (; k + 3 < rows.length; k += 4)
    addFour(out, layer, [termOf(k), termOf(k + 1), termOf(k + 2), termOf(k + 3)]);
  for (; k < rows.length; k += 1) addOne(out, layer, termOf(k));
}

/** Where a row begins, and its share. */
type Term = readonly [number, number];

function addFour(
  out: Float64Array,
  { values, width }: Layer,
  [[first, a], [second, b], [third, c], [fourth, d]]: readonly [Term, Term, Term, Term],
): void {
  for (let cell = 0; cell < width; cell += 1)
    out[cell] =
      (out[cell] ?? 0) +
      a * (values[first + cell] ?? 0) +
      b * (values[second + cell] ?? 0) +
      c * (values[third + cell] ?? 0) +
      d * (values[fourth + cell] ?? 0);
}

function addOne(out: Float64Array, { values, width }: Layer, [start, share]: Term): void {
  for (let cell = 0; cell < width; cell += 1)
    out[cell] = (out[cell] ?? 0) + share * (values[start + cell] ?? 0);
}
