/** Where a plan keeps the values of one moment: a row for each situation, a cell for each step of slack. */

/** What a job does in one tick of time. Numbers, because plans are arrays indexed by them. */
export const IDLE = 0;
export const SPOT = 1;
export const ON_DEMAND = 2;
export type Action = typeof IDLE | typeof SPOT | typeof ON_DEMAND;

export const UNREACHABLE = 1e9;

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

/** A row of a layer, and its share in a sum of rows. */
export interface Term {
  readonly row: number;
  readonly share: number;
}

type Four = Readonly<Record<'a' | 'b' | 'c' | 'd', Term>>;

/**
 * A sum of rows, prepared once for all layers. Four rows are added at a time, in the same order as one by one. That
 * reads and writes the sum a quarter as often, and a plan takes a third less time.
 */
export interface Mixture {
  readonly fours: readonly Four[];
  readonly rest: readonly Term[];
}

export function mixtureOf(terms: readonly Term[]): Mixture {
  const fours: Four[] = [];
  for (let k = 0; k < terms.length; k += 4) {
    const [a, b, c, d] = terms.slice(k, k + 4);
    if (a && b && c && d) fours.push({ a, b, c, d });
  }
  return { fours, rest: terms.slice(4 * fours.length) };
}

/** Both as wide as the widest layer; they may be the same array. */
interface Sum {
  readonly out: Float64Array;
  readonly from: Float64Array;
}

/**
 * out[s] = from[s] + share x row, row after row, as far as they go; 0 beyond, where the job is done. Counted loops: with
 * `for of` a plan takes half as long again.
 */
export function addRows({ out, from }: Sum, layer: Layer, { fours, rest }: Mixture): void {
  out.fill(0, layer.width);
  let sum = from;
  for (let k = 0; k < fours.length; k += 1) {
    const four = fours[k];
    if (four) addFour({ out, from: sum }, layer, four);
    sum = out;
  }
  for (let k = 0; k < rest.length; k += 1) {
    const term = rest[k];
    if (term) addOne({ out, from: sum }, layer, term);
    sum = out;
  }
  if (sum !== out) out.set(from);
}

function addFour({ out, from }: Sum, { values, width }: Layer, { a, b, c, d }: Four): void {
  const [startA, startB, startC, startD] = [a.row * width, b.row * width, c.row * width, d.row * width];
  const [shareA, shareB, shareC, shareD] = [a.share, b.share, c.share, d.share];
  for (let cell = 0; cell < width; cell += 1)
    out[cell] =
      (from[cell] ?? 0) +
      shareA * (values[startA + cell] ?? 0) +
      shareB * (values[startB + cell] ?? 0) +
      shareC * (values[startC + cell] ?? 0) +
      shareD * (values[startD + cell] ?? 0);
}

function addOne({ out, from }: Sum, { values, width }: Layer, { row, share }: Term): void {
  const start = row * width;
  for (let cell = 0; cell < width; cell += 1)
    out[cell] = (from[cell] ?? 0) + share * (values[start + cell] ?? 0);
}
