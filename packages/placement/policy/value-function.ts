/**
 * The plan of a job: the least expected cost from every situation that it can reach, by one backward pass over time. A
 * situation consists of the ticks left, the slack (time that can still be lost), what ran last with the start-up it
 * still owes, and the state of the market. The deadline is enforced by the allowed actions, not by the values: after
 * every tick an On-Demand start must still end in time.
 */
import { type Action, IDLE, SPOT } from './actions.ts';
import { type Layer, lookUp, type Rows, rowsFor } from './plan-layer.ts';
import { backwardPass, type MarketChain, type Terms } from './plan-pass.ts';

/** The work and the deadline. They do not change values, only how far a table must reach. */
export interface Horizon {
  readonly workSeconds: number;
  readonly deadlineSeconds: number;
}

export interface PolicyJob extends Terms, Horizon {}

export interface PlanOptions {
  /** Resolution of the slack axis: cells per tick. */
  readonly cellsPerTick: number;
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

/** The values of every situation that jobs on the same terms can come to. */
export interface PlanTable {
  readonly chain: MarketChain;
  readonly terms: Terms;
  /** Of memory, for all values. */
  readonly bytes: number;
  /**
   * Expected USD from the end of a tick: `ticksLeft` remain, and the market's next state is weighed by `weights`.
   * Between two whole numbers of ticks it is linear, at the same slack.
   * Infinite where the work cannot be done in time any more.
   */
  readonly value: (ticksLeft: number, end: TickEnd, weights: readonly StateChance[]) => number;
  /** Whether the job is on these terms and can come to no situation without a value. */
  readonly reaches: (job: PolicyJob) => boolean;
}

export interface PolicyPlan extends Pick<PlanTable, 'chain' | 'value'> {
  readonly job: PolicyJob;
}

/** Plans that share tables: the last `mostTables` are kept. */
interface KeptOptions extends PlanOptions {
  readonly mostTables: number;
  /** How much further a table reaches than its first job needs, as a share of the time to its deadline. */
  readonly spare: number;
}

/**
 * The looks at a run, and its next decisions, mostly ask for the same terms with less work and less time.
 * @param chainOf one step of this many seconds
 */
export function keptPlans(
  chainOf: (tickSeconds: number) => MarketChain,
  { mostTables, spare, ...options }: KeptOptions,
): (job: PolicyJob) => PolicyPlan {
  const kept: PlanTable[] = [];
  return (job) => {
    const at = kept.findIndex((each) => each.reaches(job));
    const [found] = at < 0 ? [] : kept.splice(at, 1);
    const wider = { ...job, deadlineSeconds: job.deadlineSeconds * (1 + spare) };
    const table = found ?? makeTable(chainOf(job.tickSeconds), job, [wider], options);
    kept.unshift(table);
    kept.length = Math.min(kept.length, mostTables);
    return planFrom(table, job);
  };
}

const sameTerms = (a: Terms, b: Terms): boolean =>
  a.tickSeconds === b.tickSeconds &&
  a.restartSeconds === b.restartSeconds &&
  a.spotUsd === b.spotUsd &&
  a.onDemandUsd === b.onDemandUsd &&
  a.waitingUsd === b.waitingUsd;

/** The plan of one of the table's jobs, equal to the bit to a plan made for this job alone. */
export const planFrom = (
  { chain, terms, value }: PlanTable,
  { workSeconds, deadlineSeconds }: Horizon,
): PolicyPlan => ({ chain, value, job: { ...terms, workSeconds, deadlineSeconds } });

/**
 * One table for several jobs, at each moment as wide as the widest job that can still run then. Slack never grows, so
 * the values that a job can reach do not depend on cells that only a wider job needs.
 */
export function makeTable(
  chain: MarketChain,
  terms: Terms,
  horizons: readonly Horizon[],
  options: PlanOptions,
): PlanTable {
  const cellSeconds = terms.tickSeconds / options.cellsPerTick;
  const rows = rowsFor({ upStates: chain.upStates, states: chain.step.length }, debtsOf(terms));
  const cells = reachOf(horizons, terms.tickSeconds, cellSeconds);
  const pass = backwardPass(chain, terms, { cells, cellSeconds, rows });
  const layers: Layer[] = [];
  for (let ticksLeft = 0; ticksLeft < cells.length; ticksLeft += 1)
    layers.push(pass(layers.at(-1), ticksLeft));
  return {
    chain,
    terms,
    bytes: layers.reduce((sum, { values }) => sum + values.byteLength, 0),
    reaches(job) {
      const needed = reachOf([job], terms.tickSeconds, cellSeconds);
      return (
        sameTerms(terms, job) &&
        needed.length <= cells.length &&
        needed.every((each, left) => each <= (cells[left] ?? 0))
      );
    },
    value: (ticksLeft, end, weights) => {
      const whole = Math.floor(ticksLeft + 1e-9);
      const part = ticksLeft - whole;
      const at = (ticks: number): number => {
        const layer = layers[ticks];
        return layer === undefined ? 0 : weighted(layer, { rows, cellSeconds }, end, weights);
      };
      return part < 1e-9 ? at(whole) : (1 - part) * at(whole) + part * at(whole + 1);
    },
  };
}

/** By ticks left, the cells of slack that any of the jobs can have then; never more than with fewer ticks left. */
export function reachOf(horizons: readonly Horizon[], tickSeconds: number, cellSeconds: number): Int32Array {
  const all = horizons.map(({ deadlineSeconds, workSeconds }) => ({
    ticks: Math.floor(deadlineSeconds / tickSeconds + 1e-9),
    cells: Math.ceil((deadlineSeconds - workSeconds) / cellSeconds) + 3,
  }));
  const reach = new Int32Array(Math.max(...all.map(({ ticks }) => ticks)));
  for (const { ticks, cells } of all)
    for (let left = 0; left < ticks; left += 1) reach[left] = Math.max(reach[left] ?? 0, cells);
  return reach;
}

/** Seconds that a start still owes at the end of each of its first ticks. */
export function debtsOf({
  restartSeconds,
  tickSeconds,
}: Pick<Terms, 'restartSeconds' | 'tickSeconds'>): readonly number[] {
  const debts: number[] = [];
  for (let debt = restartSeconds - tickSeconds; debt > 1e-6; debt -= tickSeconds) debts.push(debt);
  return debts;
}

function weighted(
  layer: Layer,
  { rows, cellSeconds }: { readonly rows: Rows; readonly cellSeconds: number },
  { ran, slack, debt }: TickEnd,
  weights: readonly StateChance[],
): number {
  // Debts fall from tick to tick: take the last that is not below the one owed.
  const phase = ran === SPOT && debt > 1e-6 ? rows.debts.findLastIndex((each) => each >= debt - 1e-6) : -1;
  let total = 0;
  for (const { state, chance } of weights) {
    const lost = ran === SPOT && state >= rows.upStates;
    const row = rows.of(state, lost ? IDLE : ran, phase);
    total += chance * lookUp(layer, row, (slack + (lost ? debt : 0)) / cellSeconds);
  }
  return total;
}
