/** The screen "Run": outcome and money, the life line, the first curves, and the timeline. */
import { type Answer, read } from './api.ts';
import { curveChart, lifeLineChart, type SeriesView } from './charts.ts';
import { type Child, command, element, table } from './element.ts';
import { clockText, durationText, timeText, usdText } from './format.ts';
import { isFinished, lifeLineOf, type RunView } from './life-line.ts';
import type { Screen } from './screen.ts';
import { steering } from './steering.ts';

const CURVES = 4;

/** @param changed draws the run again */
export async function runScreen(runId: string, changed: () => void): Promise<Answer<Screen>> {
  const path = `/runs/${encodeURIComponent(runId)}`;
  const [run, curves] = await Promise.all([
    read<RunView>(path),
    read<{ readonly series: readonly SeriesView[] }>(`${path}/series?points=300`),
  ]);
  if (run.kind === 'refused') return run;
  const series = curves.kind === 'ok' ? curves.body.series : [];
  const isEnded = isFinished(run.body.run);
  const view = run.body;
  const content = [
    element('h1', {}, view.run.runId),
    ...(view.run.failure === undefined ? [] : [element('p', { class: 'problem' }, view.run.failure)]),
    facts(view),
    ...steering(view, changed),
    ...lifeLineChart(lifeLineOf(view, Date.now())),
    ...series.slice(0, CURVES).flatMap((each) => curveChart(each)),
    ...(curves.kind === 'refused' ? [element('p', { class: 'problem' }, curves.message)] : []),
    element('h2', {}, 'Timeline'),
    timeline(view),
    command(`npm run logs -- ${view.run.runId}; npm run explain -- ${view.run.runId}`),
  ];
  // What goes on grows by the clock, so the same answer is drawn again.
  const text = `${run.text}${isEnded ? '' : Date.now()}${curves.kind === 'ok' ? curves.text : ''}`;
  return { kind: 'ok', text, body: { title: view.run.runId, content, pollSeconds: isEnded ? undefined : 3 } };
}

function facts({ run, attempts, progress, report }: RunView): HTMLElement {
  const items: [string, Child][] = [
    ['state', run.status],
    ['began', timeText(run.createdAt)],
  ];
  const furthest = progress ?? attempts.at(-1)?.progressAfter;
  if (furthest !== undefined) items.push(['saved', savedText(furthest)]);
  if (report === undefined) items.push(['cost', isFinished(run) ? 'no report' : 'known at the end']);
  else
    items.push(
      ['took', durationText(Date.parse(report.finishedAt) - Date.parse(run.createdAt))],
      ['deadline', deadlineText(report)],
      ['cost', usdText(report.costUsd)],
      ['On-Demand would be', usdText(report.onDemandUsd)],
      ['lost work', durationText(report.lostSeconds * 1000)],
      ['interruptions', String(report.interruptions)],
    );
  const shown = items.map(([name, value]) =>
    element('div', {}, element('dt', {}, name), element('dd', {}, value)),
  );
  return element('dl', { class: 'facts' }, ...shown);
}

function deadlineText({ deadline, finishedAt }: NonNullable<RunView['report']>): Child {
  if (deadline.at === undefined) return 'none';
  const left = Date.parse(deadline.at) - Date.parse(finishedAt);
  const title = timeText(deadline.at);
  if (deadline.met === null) return title;
  const text = left >= 0 ? `${durationText(left)} early` : `${durationText(-left)} late`;
  return element('span', { title }, deadline.met ? `met, ${text}` : `missed${left < 0 ? `, ${text}` : ''}`);
}

function savedText({ step, totalSteps, unit = 'step' }: NonNullable<RunView['progress']>): Child {
  const text = totalSteps > 0 ? `${unit} ${step} of ${totalSteps} ` : `${unit} ${step}`;
  if (totalSteps <= 0) return text;
  const bar = element('progress', {
    value: String(step),
    max: String(totalSteps),
    'aria-label': 'saved work',
  });
  return element('span', {}, text, bar);
}

function timeline({ run, timeline: entries }: RunView): HTMLElement {
  if (entries.length === 0) return element('p', { class: 'quiet' }, 'Nothing has happened yet.');
  return table(
    'timeline',
    ['time', 'what happened'],
    entries.map(({ at, text }) => [element('time', { datetime: at }, clockText(at, run.createdAt)), text]),
  );
}
