/** What the cells of a probe would cost at most, before any of them starts. */
import { UsageError } from '@tidewheel/kit/command-line.ts';
import type { AnswerOf } from '../../client/operations.ts';
import { type Api, ApiError } from '../command/api-calls.ts';
import { noSuchPipeline } from '../command/run-list.ts';
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
export function changeOf({ change }: Pick<Cell, 'change'>, { seconds }: Pick<ProbeLimits, 'seconds'>) {
  const tuning = tableOf(change['tuning']);
  return {
    ...change,
    limits: { ...tableOf(change['limits']), maximumRunSeconds: seconds },
    tuning: { ...tuning, limits: { ...tableOf(tuning['limits']), attempts: MOST_ATTEMPTS } },
  };
}

/** An interruption, or a pool without capacity, does not end a cell. */
const MOST_ATTEMPTS = 3;

const tableOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

/** The packed dataset is there: what still lies in incoming/ is not counted. */
const NO_ARRIVALS = { files: 1, bytes: 1 };

/** @throws UsageError with every problem of the cells, each once */
export async function planned(
  api: Api,
  pipeline: string,
  { cells, limits }: { readonly cells: readonly Cell[]; readonly limits: ProbeLimits },
): Promise<readonly PlannedCell[]> {
  const plans: PlannedCell[] = [];
  const refused: Refused[] = [];
  for (const cell of cells) {
    const body = { pipeline, change: changeOf(cell, limits), data: NO_ARRIVALS };
    const plan = await api.call('planRun', { body }).catch(async (error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 404) throw await noSuchPipeline(api, pipeline);
      if (error.status !== 400) throw error;
      return error;
    });
    if (plan instanceof ApiError) refused.push({ cell, lines: linesOf(plan) });
    else plans.push({ ...cell, ...placeOf(plan, limits) });
  }
  if (refused.length > 0) throw new UsageError(problemsOf(refused, cells));
  return plans;
}

interface Refused {
  readonly cell: Cell;
  readonly lines: readonly string[];
}

/** Below a heading, one problem a line. */
function linesOf({ message }: ApiError): readonly string[] {
  const [heading = '', ...problems] = message.split('\n');
  return problems.length === 0 ? [heading] : problems.map((line) => line.trim());
}

/** A value is in many combinations: each problem once, by the value that all of its combinations share. */
function problemsOf(refused: readonly Refused[], cells: readonly Cell[]): readonly string[] {
  const lines = [...new Set(refused.flatMap((each) => each.lines))];
  return lines.map((line) => {
    const wrong = refused.filter((each) => each.lines.includes(line)).map(({ cell }) => cell);
    if (wrong.length === cells.length) return line;
    const shared = wrong[0]?.assignments.find((assignment) => {
      const having = cells.filter(({ assignments }) => assignments.includes(assignment));
      return having.length === wrong.length && having.every((cell) => wrong.includes(cell));
    });
    return `${shared ?? wrong.map(({ name }) => name).join(' and ')}: ${line}`;
  });
}

function placeOf(
  { decision, notes }: AnswerOf<'planRun'>,
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
