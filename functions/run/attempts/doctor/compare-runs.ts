/** Runs side by side: how fast they trained, how busy they were, and what they paid, also until the same metric. */

import type { StepSpeed } from '@tidewheel/doctor/probe.ts';
import { type Difference, differingInRuns } from '@tidewheel/kit/differences.ts';
import { list, usd } from '@tidewheel/kit/fields.ts';
import { attemptCost } from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import { type AttemptRecord, type RunRecord, runStatusSchema } from '../../../records/run-records.ts';
import type { Series as SeriesOfRun } from '../../../records/series.ts';
import { nameOfTopology, speedsOf } from './topology-speed.ts';

type Series = readonly SeriesOfRun[];

export interface ComparedRun {
  readonly run: Pick<RunRecord, 'runId' | 'status' | 'declaration' | 'generations' | 'source'>;
  readonly attempts: readonly AttemptRecord[];
  readonly series: Series;
  /** Of a probe, as its table has it. */
  readonly probed?: { readonly speed: StepSpeed; readonly usdPerHour: number } | undefined;
}

const share = z.number().describe('Share of 1.');

const comparisonRowSchema = z.object({
  runId: z.string(),
  status: runStatusSchema,
  strategy: z.string().optional(),
  /** Several topologies of a run are not mixed. */
  topology: z.string().optional().describe('Of the longest measured one, such as 2 x g5.xlarge.'),
  samplesPerSecond: z.number().optional(),
  usdPerMillionSamples: usd.optional(),
  stepSeconds: z.object({ median: z.number(), p95: z.number() }).optional(),
  cpuBusy: share.optional(),
  gpuBusy: share.optional(),
  costUsd: usd,
  /** Absent where the run did not log the metric. */
  costToMetricUsd: usd.optional().describe('Paid when the run first reached the value of the metric.'),
});
type ComparisonRow = z.output<typeof comparisonRowSchema>;

export const comparisonSchema = z.object({
  rows: list(comparisonRowSchema),
  differing: list(z.object({ field: z.string(), values: list(z.string()) }))
    .optional()
    .describe(
      'Fields of declaration, data and source that differ, with the value of each row; none of environment.',
    ),
  metric: z
    .object({ name: z.string(), value: z.number() })
    .optional()
    .describe('What every run that logged it has reached; absent without such a metric.'),
});
type Comparison = z.output<typeof comparisonSchema>;

/** @param metric name of a series; default: the first that all runs logged, a loss before others */
export function compareMeasuredRuns(runs: readonly ComparedRun[], metric?: string): Comparison {
  const name = metric ?? commonMetric(runs);
  const target = name === undefined ? undefined : commonTarget(runs, name);
  return {
    rows: runs.map((each) => rowOf(each, target)),
    differing: differencesOf(runs),
    metric: target,
  };
}

/** Values of variables may be secret. */
const differencesOf = (runs: readonly ComparedRun[]): Difference[] =>
  differingInRuns(runs.map(({ run }) => run)).map(({ field, values }) => ({
    field,
    values: field.startsWith('training.environment.') ? values.map(() => '(hidden)') : [...values],
  }));

type Target = NonNullable<Comparison['metric']>;

function rowOf(compared: ComparedRun, target: Target | undefined): ComparisonRow {
  const { run, attempts, series } = compared;
  return {
    runId: run.runId,
    status: run.status,
    strategy: run.declaration?.training.strategy,
    ...(probedSpeed(compared) ?? measuredSpeed(attempts)),
    costUsd: attempts.reduce((sum, attempt) => sum + attemptCost(attempt), 0),
    costToMetricUsd: target && costUntil(attempts, reachedAt(series, target)),
  };
}

type RowSpeed = Pick<
  ComparisonRow,
  'topology' | 'samplesPerSecond' | 'usdPerMillionSamples' | 'stepSeconds' | 'cpuBusy' | 'gpuBusy'
>;

function measuredSpeed(attempts: readonly AttemptRecord[]): RowSpeed {
  const [speed] = speedsOf(attempts).toSorted((a, b) => b.seconds - a.seconds);
  const last = attempts.findLast(({ attempt }) => speed?.attempts.includes(attempt) === true)?.diagnosis
    ?.speed;
  return {
    topology: speed?.topology,
    samplesPerSecond: speed?.samplesPerSecond,
    usdPerMillionSamples:
      speed?.samplesPerDollar === undefined ? undefined : 1e6 / Math.max(1e-9, speed.samplesPerDollar),
    stepSeconds: speed?.stepSeconds,
    cpuBusy: last?.cpuBusy,
    gpuBusy: last?.gpuBusy,
  };
}

/** Too short for the points of the doctor, and on one machine by another clock than theirs. */
function probedSpeed({ attempts, probed }: ComparedRun): RowSpeed | undefined {
  const last = attempts.at(-1);
  if (probed === undefined || last === undefined) return undefined;
  const rate = probed.speed.samplesPerSecond;
  return {
    topology: nameOfTopology(last.placement),
    samplesPerSecond: rate?.mean,
    usdPerMillionSamples: rate && (1e6 / rate.mean) * (probed.usdPerHour / 3_600),
  };
}

const pointsOf = (series: Series, name: string) =>
  (series.find((each) => each.name === name)?.points ?? []).flatMap(({ value, at }) =>
    value === null ? [] : { value, at },
  );

const isLowerBetter = (name: string): boolean => /loss|error|perplexity|mse|mae/i.test(name);

function commonMetric(runs: readonly ComparedRun[]): string | undefined {
  const [first, ...others] = runs.map(({ series }) => series.map(({ name }) => name));
  const common = (first ?? []).filter((name) => others.every((names) => names.includes(name)));
  return common.find((name) => /loss/i.test(name)) ?? common[0];
}

/** The best value of the run that came least far. */
function commonTarget(runs: readonly ComparedRun[], name: string): Target | undefined {
  const values = runs.map(({ series }) => pointsOf(series, name).map(({ value }) => value));
  const known = values.filter((each) => each.length > 0);
  if (known.length === 0) return undefined;
  return isLowerBetter(name)
    ? { name, value: Math.max(...known.map((each) => Math.min(...each))) }
    : { name, value: Math.min(...known.map((each) => Math.max(...each))) };
}

const reachedAt = (series: Series, { name, value }: Target): string | undefined =>
  pointsOf(series, name).find((point) => (isLowerBetter(name) ? point.value <= value : point.value >= value))
    ?.at;

/** Attempts that had ended whole, and the part of the one that ran then. */
function costUntil(attempts: readonly AttemptRecord[], at: string | undefined): number | undefined {
  if (at === undefined) return undefined;
  return attempts.reduce((sum, attempt) => {
    const { startedAt, endedAt } = attempt.outcome ?? {};
    if (startedAt === undefined || endedAt === undefined) return sum;
    const whole = Math.max(1, Date.parse(endedAt) - Date.parse(startedAt));
    const share = (Date.parse(at) - Date.parse(startedAt)) / whole;
    return sum + attemptCost(attempt) * Math.min(1, Math.max(0, share));
  }, 0);
}
