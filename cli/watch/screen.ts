/** The screen of `watch`: at most seven lines that fit the terminal's width. */

import { durationText, reportedTexts, usdText } from '../../client/amounts.ts';
import { isFinished, usdSoFar } from '../../client/run-view.ts';
import { countText, momentText, safe, visible } from '../command/format.ts';
import type { Colours } from '../command/terminal.ts';
import { lifeLineText } from './life-line.ts';
import { type Settle, waitText } from './settling.ts';
import {
  deadlineOf,
  doctorsWord,
  positionOf,
  preparingText,
  shownMetric,
  type WatchedRun,
  type WatchedSeries,
} from './view.ts';

export interface Watched {
  readonly view: WatchedRun;
  readonly series: WatchedSeries;
  /** Of the pipeline, while the run settles. */
  readonly settle?: Settle | undefined;
  /** Milliseconds since 1970 since when the API has given no answer: all else is as it was then. */
  readonly silentSince?: number | undefined;
}

interface Frame {
  readonly now: number;
  readonly columns: number;
  readonly colours: Colours;
}

export function screenLines(watched: Watched, frame: Frame): string[] {
  const { view } = watched;
  const lines = [
    headLine(view, frame),
    lifeLine(view, frame),
    ...progressLine(watched, frame),
    ...metricsLine(view),
    ...moneyLine(view, frame),
    ...wordLines(watched, frame),
  ];
  return lines.map((line) => cut(line, frame.columns));
}

function headLine({ run, attempts, ...view }: WatchedRun, { now, columns, colours }: Frame): string {
  const status = isFinished(run)
    ? ['failed', 'stopped'].includes(run.status)
      ? colours.red(run.status)
      : colours.green(run.status)
    : colours.bold(run.status);
  const most = run.declaration?.tuning?.limits?.attempts;
  const attempt =
    attempts.length === 0 ? '' : `attempt ${attempts.length}${most === undefined ? '' : ` of ${most}`}`;
  const left = [colours.bold(run.runId), status, attempt].filter((word) => word !== '').join('  ');
  return spread(left, deadlineText({ run, attempts, ...view }, now, colours), columns);
}

function deadlineText(view: WatchedRun, now: number, colours: Colours): string {
  const at = deadlineOf(view);
  if (at === undefined) return '';
  const moment = momentText(new Date(at), new Date(now));
  const { report } = view;
  if (report !== undefined) return report.deadline.met === null ? '' : keptText(report, moment, colours);
  const seconds = (at - now) / 1000;
  const left = seconds > 0 ? `${durationText(seconds)} left` : `passed ${durationText(-seconds)} ago`;
  const text = `deadline ${moment} (${left})`;
  const finish = view.money.expected?.finishAt.expected;
  return seconds < 0 || (finish !== undefined && Date.parse(finish) > at) ? colours.red(text) : text;
}

function keptText(
  { deadline: { at = '', met }, finishedAt }: NonNullable<WatchedRun['report']>,
  moment: string,
  colours: Colours,
): string {
  if (met === true) return colours.green(`deadline ${moment} met`);
  // A run that failed may have had time left.
  const word = Date.parse(finishedAt) < Date.parse(at) ? 'not met' : 'missed';
  return colours.red(`deadline ${moment} ${word}`);
}

function lifeLine(view: WatchedRun, { now, columns, colours }: Frame): string {
  const finish = view.money.expected?.finishAt;
  const at = (time: string) => momentText(new Date(time), new Date(now));
  const isOpen = view.attempts.length > 0 && !isFinished(view.run);
  const unknown = isOpen ? '◌ pace not known yet' : '';
  const end =
    finish === undefined ? unknown : `◌ ${at(finish.expected)} (${at(finish.low)}-${at(finish.high)})`;
  const room = columns - end.length - (end === '' ? 0 : 2);
  return spread(lifeLineText(view, now, room, colours), end, columns);
}

const BAR = 16;
const TRENDS = { falls: '↘', rises: '↗', flat: '→' } as const;

function progressLine({ view, series }: Watched, { columns, colours }: Frame): string[] {
  const at = positionOf(view, series);
  if (at === undefined) return [];
  const metric = shownMetric(view, series);
  const share = at.total === undefined ? undefined : at.step / at.total;
  const bar =
    share === undefined
      ? ''
      : `${String(Math.floor(share * 100)).padStart(3)} %  ${colours.green('█'.repeat(Math.round(share * BAR)))}${colours.dim('░'.repeat(BAR - Math.round(share * BAR)))}`;
  const total = at.total === undefined ? '' : ` / ${countText(at.total)}`;
  const pace = paceText(view);
  const right = [
    pace,
    metric === undefined ? '' : `${safe(metric.name)} ${number(metric.value)} ${TRENDS[metric.trend]}`,
  ];
  return [
    spread(
      `${at.unit} ${countText(at.step)}${total}  ${bar}`,
      right.filter((word) => word !== '').join('   '),
      columns,
    ),
  ];
}

/** An ended run shows the last value of each metric, even if no checkpoint was recognised. */
function metricsLine({ report }: WatchedRun): string[] {
  const texts = report === undefined ? [] : reportedTexts(report);
  return texts.length === 0 ? [] : [`metrics ${safe(texts.join(', '))}`];
}

function paceText({ progress, run }: WatchedRun): string {
  if (progress?.trainingSeconds === undefined || progress.step <= 0 || isFinished(run)) return '';
  const seconds = progress.trainingSeconds / progress.step;
  const unit = progress.unit ?? 'step';
  return seconds < 1 ? `${number(1 / seconds)} ${unit}s/s` : `${number(seconds)} s a ${unit}`;
}

const number = (value: number): string => String(Number(value.toPrecision(3)));

function moneyLine(view: WatchedRun, { now, colours }: Frame): string[] {
  const { attempts, money, report } = view;
  if (attempts.length === 0) return [];
  const { expected, lost, budgetUsd } = money;
  const of =
    expected === undefined
      ? ''
      : ` of ${usdText(expected.usd.expected)} (${usdText(expected.usd.low)}-${usdText(expected.usd.high)})`;
  const budget = budgetUsd === undefined || report !== undefined ? '' : `   budget ${usdText(budgetUsd)}`;
  const wasted = lost.seconds === 0 ? '' : `   lost ${durationText(lost.seconds)} ($${usdText(lost.usd)})`;
  const [cost, sameUsd] = [report?.costUsd ?? usdSoFar(money, now), sameTypesUsd(view)];
  const onDemand = onDemandText(view, cost);
  const fileSystems = report?.fileSystemsUsd;
  const shared = fileSystems === undefined ? '' : ` (${usdText(fileSystems)} for file systems)`;
  return [
    `USD ${colours.bold(usdText(cost, sameUsd))}${of}${shared}   On-Demand would be ${onDemand}${wasted}${budget}`,
  ];
}

const sameTypesUsd = ({ money, report }: WatchedRun): number =>
  report?.onDemandUsd ?? money.expected?.onDemandUsd ?? money.onDemandUsd;

/** What ran, without Spot: on the same types, and on one node that could have done it. */
function onDemandText(view: WatchedRun, costUsd: number): string {
  const { report } = view;
  const same = usdText(sameTypesUsd(view), costUsd);
  const node = report?.onDemandNode;
  return node === undefined ? same : `${same}, on one ${node.instanceType} ${usdText(node.usd)}`;
}

export const silenceText = (silentSince: number, now: number): string =>
  `the API gives no answer since ${momentText(new Date(silentSince), new Date(now))}; the run goes on, and so does this`;

function wordLines({ view, settle, silentSince }: Watched, { now, colours }: Frame): string[] {
  const { run, report, timeline } = view;
  if (silentSince !== undefined) return [colours.yellow(silenceText(silentSince, now))];
  if (settle !== undefined) return [waitText(run, settle, now)];
  const preparing = preparingText(view);
  if (preparing !== undefined) return [preparing];
  const doctor = isFinished(run) ? undefined : doctorsWord(view);
  if (run.failure !== undefined && run.status === 'failed')
    return [colours.red(safe(run.failure.split('\n', 1)[0] ?? ''))];
  if (report?.modelUri !== undefined) return modelLines(run, colours.green(report.modelUri));
  if (doctor !== undefined) return [`doctor: ${safe(doctor)}`];
  const last = timeline.at(-1);
  return last === undefined ? [] : [colours.dim(`${last.at.slice(11, 19)} UTC ${safe(last.text)}`)];
}

/** The archive of a run whose script saves where it runs is empty. */
const modelLines = ({ runId, declaration }: WatchedRun['run'], uri: string): string[] => [
  ...(declaration?.training.model === 'none' ? [] : [`model ${uri}`]),
  `to have ${declaration?.training.model === 'none' ? 'what it saved' : 'it here'}: tidewheel model get ${runId}`,
];

/** Left and right apart, with at least two spaces between; without room the right is left out. */
function spread(left: string, right: string, columns: number): string {
  if (right === '') return left;
  const gap = columns - visible(left).length - visible(right).length;
  return gap >= 2 ? left + ' '.repeat(gap) + right : left;
}

/** A line that is too long ends with an ellipsis, and loses its colours, which could otherwise stay on. */
const cut = (line: string, columns: number): string =>
  visible(line).length <= columns ? line : `${visible(line).slice(0, columns - 1)}…`;
