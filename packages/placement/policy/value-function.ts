/**
 * The plan of a job: the least expected cost from every situation that it can reach, by one backward pass over time. A
 * situation consists of the ticks left, the slack (time that can still be lost), what ran last, and the state of the
 * market. The deadline is enforced by the allowed actions, not by the values: after
 * every tick an On-Demand start must still end in time.
 */
import {
  type Action,
  backwardPass,
  IDLE,
  type Layer,
  lookUp,
  type MarketChain,
  type Rows,
  rowsFor,
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

/** The values of every situation that jobs on the same terms can come to. */
interface PlanTable {
  readonly chain: MarketChain;
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
    return { chain: table.chain, value: table.value, job };
  };
}

const sameTerms = (a: Terms, b: Terms): boolean =>
  a.tickSeconds === b.tickSeconds &&
  a.restartSeconds === b.restartSeconds &&
  a.spotUsd === b.spotUsd &&
  a.onDemandUsd === b.onDemandUsd &&
  a.waitingUsd === b.waitingUsd;

function makeTable(chain: MarketChain, job: PolicyJob, cellsPerTick: number): PlanTable {
  const cellSeconds = job.tickSeconds / cellsPerTick;
  const rows = rowsFor(chain.upStates, chain.step.length);
  const reach = reachOf(job, cellSeconds);
  const pass = backwardPass(chain, job, { cells: reach.cells, cellSeconds, rows });
  const layers: Layer[] = [];
  for (let ticksLeft = 0; ticksLeft < reach.ticks; ticksLeft += 1)
    layers.push(pass(layers.at(-1), ticksLeft));
  return {
    chain,
    reaches(other) {
      const needed = reachOf(other, cellSeconds);
      return sameTerms(job, other) && needed.ticks <= reach.ticks && needed.cells <= reach.cells;
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

const reachOf = ({ deadlineSeconds, workSeconds, tickSeconds }: PolicyJob, cellSeconds: number) => ({
  ticks: Math.floor(deadlineSeconds / tickSeconds + 1e-9),
  cells: Math.ceil((deadlineSeconds - workSeconds) / cellSeconds) + 3,
});

function weighted(
  layer: Layer,
  { rows, cellSeconds }: { readonly rows: Rows; readonly cellSeconds: number },
  { ran, slack, debt }: TickEnd,
  weights: readonly StateChance[],
): number {
  let total = 0;
  for (const { state, chance } of weights) {
    const lost = ran === SPOT && state >= rows.upStates;
    const row = rows.of(state, lost ? IDLE : ran);
    total += chance * lookUp(layer, row, (slack + (lost ? debt : 0)) / cellSeconds);
  }
  return total;
}
