/** What `watch` makes of the API's answer at one moment. */
import type { AnswerOf } from '../../client/operations.ts';
import { isFinished, savedProgress, timeOf } from '../../client/run-view.ts';
import { safe } from '../command/format.ts';

export type WatchedRun = Pick<
  AnswerOf<'getRun'>,
  'run' | 'attempts' | 'timeline' | 'progress' | 'money' | 'report'
>;
export type WatchedSeries = AnswerOf<'getSeries'>['series'];

export interface Position {
  readonly step: number;
  readonly total: number | undefined;
  readonly unit: string;
}

/** The furthest that the script has printed or saved. */
export function positionOf(view: WatchedRun, series: WatchedSeries): Position | undefined {
  const saved = savedProgress(view);
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

export interface ShownMetric {
  readonly name: string;
  readonly value: number;
  readonly trend: 'falls' | 'rises' | 'flat';
}

/** A change of less than this share of the value is none. */
const LEAST_CHANGE = 0.005;
/** The trend is that of the last fifth. */
const TREND_SHARE = 0.8;

/** The declared objective, once the script gives it; else its loss: of that name, or the first whose name has the word. */
export function shownMetric(
  { run }: Pick<WatchedRun, 'run'>,
  series: WatchedSeries,
): ShownMetric | undefined {
  const declared = run.declaration?.training.objective?.metric;
  const found =
    series.find(({ name }) => name === declared) ??
    series.find(({ name }) => name === 'loss') ??
    series.find(({ name }) => /loss/i.test(name));
  // A value that is not finite is null in JSON.
  const values = (found?.points ?? []).flatMap(({ value }) => value ?? []);
  const last = values.at(-1);
  if (found === undefined || last === undefined) return undefined;
  const before = values.at(Math.floor(values.length * TREND_SHARE) - 1) ?? last;
  const change = last - before;
  const isFlat = Math.abs(change) <= Math.abs(before) * LEAST_CHANGE;
  return { name: found.name, value: last, trend: isFlat ? 'flat' : change < 0 ? 'falls' : 'rises' };
}

/** The doctor's first word on the newest attempt that says what to do. */
export function doctorsWord({ attempts }: WatchedRun): string | undefined {
  const { verdicts = [] } = attempts.at(-1)?.diagnosis ?? {};
  return verdicts.find(({ remedy }) => remedy !== undefined)?.remedy?.text;
}

/** What the newest attempt does before its script starts, such as `12:00:04 UTC Downloading the training image`. */
export function preparingText({ run, attempts }: Pick<WatchedRun, 'run' | 'attempts'>): string | undefined {
  const { preparing, outcome } = attempts.at(-1) ?? {};
  if (preparing === undefined || outcome !== undefined || isFinished(run)) return undefined;
  return `${preparing.since.slice(11, 19)} UTC ${safe(preparing.text)}`;
}

export const deadlineOf = ({ money, report }: WatchedRun): number | undefined =>
  timeOf(report?.deadline.at ?? money.deadlineAt);
