/** What `watch` knows of a run at one moment: the API's answers, and what follows from them. */
import * as z from 'zod';
import type { Money as RunMoney } from '../../functions/core/attempts/outlook/money.ts';
import { deadlineAt, type RunReport } from '../../functions/core/attempts/report.ts';
import { gangHourlyUsd } from '../../functions/core/attempts/stop-rules.ts';
import { attemptCost, hoursCost } from '../../functions/core/runs/attempt-cost.ts';
import type { AttemptRecord, Progress, RunRecord } from '../../functions/core/runs/run-records.ts';
import type { TimelineEntry } from '../../functions/core/runs/stores.ts';

/** `GET /runs/{runId}`; the records in it are the service's own. */
export const runViewSchema = z.looseObject({
  run: z.custom<RunRecord>(isObject),
  attempts: z.array(z.custom<AttemptRecord>(isObject)),
  timeline: z.array(z.custom<TimelineEntry>(isObject)),
  progress: z.custom<Progress>(isObject).optional(),
  money: z.custom<RunMoney>(isObject).optional(),
  report: z.custom<RunReport>(isObject).optional(),
});
export type RunView = z.output<typeof runViewSchema>;

/** `GET /runs/{runId}/series` */
export const seriesSchema = z.object({
  series: z.array(
    z.looseObject({
      name: z.string(),
      unit: z.string(),
      points: z.array(z.looseObject({ position: z.number(), value: z.number() })),
    }),
  ),
});
export type Series = z.output<typeof seriesSchema>['series'];

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

export interface Money {
  readonly soFarUsd: number;
  readonly onDemandUsd: number;
  /** At the pace so far; undefined where no total is known. */
  readonly expectedUsd?: number | undefined;
}

/** Estimated from hours and prices while an attempt runs; the report has what was billed. */
export function moneyOf({ attempts, report, progress, money }: RunView, now: number): Money {
  if (report !== undefined) return { soFarUsd: report.costUsd, onDemandUsd: report.onDemandUsd };
  if (money !== undefined) {
    const since = Math.max(0, now - Date.parse(money.asOf)) / 1000;
    return {
      soFarUsd: money.usd + money.usdPerSecond * since,
      onDemandUsd: money.onDemandUsd,
      expectedUsd: money.expected?.usd.expected,
    };
  }
  let [soFarUsd, onDemandUsd] = [0, 0];
  for (const attempt of attempts) {
    if (attempt.outcome === undefined) {
      const seconds = runningSeconds(attempt, now);
      soFarUsd += (gangHourlyUsd(attempt.placement) * seconds) / 3600;
      onDemandUsd += hoursCost(attempt, seconds);
    } else {
      soFarUsd += attemptCost(attempt);
      onDemandUsd += hoursCost(attempt, attempt.outcome.trainingSeconds);
    }
  }
  const open = attempts.at(-1);
  const left = secondsLeft(progress);
  const expectedUsd =
    left === undefined || open === undefined || open.outcome !== undefined
      ? undefined
      : soFarUsd + (gangHourlyUsd(open.placement) * left) / 3600;
  return { soFarUsd, onDemandUsd, expectedUsd };
}

function runningSeconds({ status, createdAt }: AttemptRecord, now: number): number {
  return status === 'running' ? Math.max(0, now - Date.parse(createdAt)) / 1000 : 0;
}

/** Of training, at the mean pace of all attempts. */
function secondsLeft(progress: Progress | undefined): number | undefined {
  if (progress?.trainingSeconds === undefined || progress.step <= 0 || progress.totalSteps <= 0)
    return undefined;
  return ((progress.totalSteps - progress.step) * progress.trainingSeconds) / progress.step;
}

export interface Position {
  readonly step: number;
  readonly total: number | undefined;
  readonly unit: string;
}

/** The furthest that the script has printed or saved. */
export function positionOf({ progress, attempts }: RunView, series: Series): Position | undefined {
  const saved = progress ?? attempts.at(-1)?.progressAfter;
  const unit = saved?.unit ?? 'step';
  const printed = Math.max(
    0,
    ...series
      .filter((each) => each.unit === unit)
      .map(({ points }) => Math.floor(points.at(-1)?.position ?? 0)),
  );
  const step = Math.max(saved?.step ?? 0, printed);
  if (saved === undefined && printed === 0) return undefined;
  const total = saved === undefined || saved.totalSteps <= 0 ? undefined : saved.totalSteps;
  return { step: total === undefined ? step : Math.min(step, total), total, unit };
}

export interface Loss {
  readonly name: string;
  readonly value: number;
  readonly trend: 'falls' | 'rises' | 'flat';
}

/** The script's loss: the series of that name, or the first whose name has the word. */
export function lossOf(series: Series): Loss | undefined {
  const found = series.find(({ name }) => name === 'loss') ?? series.find(({ name }) => /loss/i.test(name));
  const last = found?.points.at(-1);
  if (found === undefined || last === undefined) return undefined;
  const before = found.points.at(Math.floor(found.points.length * 0.8) - 1) ?? last;
  const change = last.value - before.value;
  const isFlat = Math.abs(change) <= Math.abs(before.value) * 0.005;
  return { name: found.name, value: last.value, trend: isFlat ? 'flat' : change < 0 ? 'falls' : 'rises' };
}

export interface Finish {
  readonly at: number;
}

/** When it ends at the pace so far. */
export function finishOf({ progress, attempts, money }: RunView): Finish | undefined {
  if (money?.expected !== undefined) return { at: Date.parse(money.expected.finishAt.expected) };
  const left = secondsLeft(progress);
  const open = attempts.at(-1);
  if (left === undefined || progress === undefined || open === undefined || open.outcome !== undefined)
    return undefined;
  return { at: Date.parse(progress.updatedAt) + left * 1000 };
}

export const deadlineOf = ({ run, report }: RunView): number | undefined => {
  const at = report?.deadline.at ?? deadlineAt(run)?.toISOString();
  return at === undefined ? undefined : Date.parse(at);
};
