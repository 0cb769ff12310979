/** What the cells of a probe would cost at most, before any of them starts. */
import { UsageError } from '@tidewheel/emulators/shared/command-line.ts';
import type { PlanRunAnswer } from '../../client/operations.ts';
import { type Api, ApiError } from '../command/api.ts';
import { noPipeline } from '../command/runs.ts';
import type { Cell } from './grid.ts';

export interface ProbeLimits {
  readonly steps: number;
  /** Longest training of a cell. */
  readonly seconds: number;
}

export interface PlannedCell extends Cell {
  /** Where it would train now. */
  readonly place: string;
  /** On-Demand, of all hosts: a Spot pool is cheaper, and may be gone. */
  readonly usdPerHour: number;
  /** Of one attempt that uses all of its time. */
  readonly mostUsd: number;
}

/** What every cell changes beside its own settings. */
export const changeOf = ({ change }: Pick<Cell, 'change'>, { steps, seconds }: ProbeLimits) => ({
  ...change,
  limits: { ...tableOf(change['limits']), steps, maximumRunSeconds: seconds, attempts: MOST_ATTEMPTS },
});

/** An interruption, or a pool without capacity, does not end a cell. */
const MOST_ATTEMPTS = 3;

const tableOf = (value: unknown): object => (typeof value === 'object' && value !== null ? value : {});

/** The packed dataset is there: what still lies in incoming/ is not counted. */
const NO_ARRIVALS = { files: 1, bytes: 1 };

/** @throws UsageError with every problem of every cell */
export async function planned(
  api: Api,
  pipeline: string,
  { cells, limits }: { readonly cells: readonly Cell[]; readonly limits: ProbeLimits },
): Promise<readonly PlannedCell[]> {
  const plans: PlannedCell[] = [];
  const problems: string[] = [];
  for (const cell of cells) {
    const body = { pipeline, change: changeOf(cell, limits), data: NO_ARRIVALS };
    const plan = await api.call('planRun', { body }).catch(async (error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 404) throw await noPipeline(api, pipeline);
      if (error.status !== 400) throw error;
      return error;
    });
    if (plan instanceof ApiError) problems.push(`${cell.name}: ${plan.message}`);
    else plans.push({ ...cell, ...placeOf(plan, limits) });
  }
  if (problems.length > 0) throw new UsageError(problems);
  return plans;
}

function placeOf(
  { decision, notes }: PlanRunAnswer,
  { seconds }: ProbeLimits,
): Pick<PlannedCell, 'place' | 'usdPerHour' | 'mostUsd'> {
  if (decision?.kind !== 'launch')
    return { place: `none now: ${decision?.reason ?? notes.join('; ')}`, usdPerHour: 0, mostUsd: 0 };
  const { pool, topology, onDemandHourlyUsd, helpersHourlyUsd = 0 } = decision.placement;
  const usdPerHour = onDemandHourlyUsd * topology.nodes + helpersHourlyUsd;
  return {
    place: `${topology.nodes} x ${pool.instanceType}, ${pool.purchaseOption}`,
    usdPerHour,
    mostUsd: (usdPerHour * seconds) / 3_600,
  };
}
