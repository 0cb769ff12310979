/** Which of several short trials is the cheapest and which the fastest, as far as their intervals tell. */
import type { MeasuredMean, StepSpeed } from './step-blocks.ts';

export interface ProbedCell {
  /** Such as `training.strategy=mpi`. */
  readonly name: string;
  readonly speed: StepSpeed;
  /** Of all its hosts, at the price that was paid. */
  readonly usdPerHour: number;
}

export interface Ranked {
  readonly best: string;
  /** Others whose intervals reach into that of the best. */
  readonly alike: readonly string[];
  /** How much worse the next one is that is not alike, as a share of 1; absent where there is none. */
  readonly ahead?: number | undefined;
  /** Steps that would tell the nearest of them apart, if its difference is real; absent where none is alike. */
  readonly stepsToTell?: number | undefined;
}

export interface ProbeVerdict {
  /** steps: not every trial tells its samples, so a step of each must do the same work. */
  readonly unit: 'samples' | 'steps';
  /** By what a unit costs. */
  readonly cheapest: Ranked;
  /** By what a unit takes. */
  readonly fastest: Ranked;
}

/** Seconds of a unit: of a sample, or of a step. */
function unitSeconds({ speed }: Pick<ProbedCell, 'speed'>, unit: ProbeVerdict['unit']): MeasuredMean {
  const { samplesPerSecond, stepSeconds } = speed;
  if (unit === 'steps' || samplesPerSecond === undefined) return stepSeconds;
  const { mean, low, high } = samplesPerSecond;
  return { mean: 1 / mean, low: 1 / high, high: 1 / low };
}

const UNITS = { samples: 1e6, steps: 1e3 } as const;
/** What `unitCostUsd` gives, as the head of a column. */
export const UNIT_PRICES = { samples: '$/M samples', steps: '$/1,000 steps' } as const;

/** What a million samples or a thousand steps cost. */
export const unitCostUsd = (cell: ProbedCell, unit: ProbeVerdict['unit']): MeasuredMean =>
  scaled(unitSeconds(cell, unit), (UNITS[unit] * cell.usdPerHour) / 3_600);

/** @param worse what the next one is more of */
export function rankedText({ best, alike, ahead, stepsToTell }: Ranked, worse: 'dearer' | 'slower'): string {
  const next = ahead === undefined ? '' : `; the next one is ${Math.round(100 * ahead)} % ${worse}`;
  if (alike.length === 0) return `${best}${next}`;
  const more = stepsToTell === undefined ? '' : ` (${stepsToTell} steps might)`;
  return `${best}, which these steps do not tell from ${alike.join(', ')}${more}${next}`;
}

/** @returns undefined with fewer than two that were measured */
export function probeVerdict(cells: readonly ProbedCell[]): ProbeVerdict | undefined {
  if (cells.length < 2) return undefined;
  const unit = cells.every(({ speed }) => speed.samplesPerSecond !== undefined) ? 'samples' : 'steps';
  const costs = cells.map((cell) => ({
    cell,
    measured: unitCostUsd(cell, unit),
  }));
  const times = cells.map((cell) => ({ cell, measured: unitSeconds(cell, unit) }));
  return { unit, cheapest: ranked(costs), fastest: ranked(times) };
}

const scaled = ({ mean, low, high }: MeasuredMean, factor: number): MeasuredMean => ({
  mean: mean * factor,
  low: low * factor,
  high: high * factor,
});

interface Candidate {
  readonly cell: ProbedCell;
  readonly measured: MeasuredMean;
}

/** A lower figure is better. */
function ranked(candidates: readonly Candidate[]): Ranked {
  const ordered = candidates.toSorted((a, b) => a.measured.mean - b.measured.mean);
  const [best, ...others] = ordered;
  if (best === undefined) throw new RangeError('there is nothing to rank');
  const alike = others.filter(({ measured }) => measured.low <= best.measured.high);
  const next = others.find((each) => !alike.includes(each));
  return {
    best: best.cell.name,
    alike: alike.map(({ cell }) => cell.name),
    ...(next !== undefined && { ahead: next.measured.mean / best.measured.mean - 1 }),
    ...(alike[0] !== undefined && { stepsToTell: stepsToTell(best, alike[0]) }),
  };
}

/** An interval shrinks with the root of the steps. */
function stepsToTell(best: Candidate, other: Candidate): number | undefined {
  const apart = other.measured.mean - best.measured.mean;
  const widths = best.measured.high - best.measured.mean + (other.measured.mean - other.measured.low);
  const steps = Math.max(best.cell.speed.steps, other.cell.speed.steps);
  if (apart <= best.measured.mean * SAME) return undefined;
  return Math.ceil((steps * (widths / apart) ** 2) / 100) * 100;
}

/** Below 1 % it does not matter which. */
const SAME = 0.01;
