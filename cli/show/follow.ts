/** Follows one run through the API until its report is there, and prints what is new: steps, placement, progress. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '@tidewheel/emulators/region/api-client.ts';
import { printable } from '@tidewheel/kit/command-line.ts';
import type { PlacementDecision, Progress } from '@tidewheel/placement/records.ts';
import pc from 'picocolors';
import * as z from 'zod';
import { metricTexts, reportedTexts, restartText, savedText, usdText } from '../../client/amounts.ts';
import { isFinished } from '../../client/run-view.ts';
import type { RunReport } from '../../functions/run/attempts/make-report.ts';
import { formatDecision } from './decision-text.ts';
import type { Screen } from './screen.ts';

const POLL_MILLISECONDS = 700;

/** What the view needs of GET /runs/{runId}; the inner records are the service's own. */
const view = z.object({
  run: z.object({ status: z.string(), generation: z.string().optional() }),
  attempts: z.array(z.object({ attempt: z.number(), jobName: z.string(), status: z.string() })),
  timeline: z.array(z.object({ id: z.string(), at: z.string(), kind: z.string(), text: z.string() })),
  progress: z.custom<Progress>().optional(),
});
type RunView = z.infer<typeof view>;
const placementView = z.object({ attempt: z.number(), decision: z.custom<PlacementDecision>() });
const reportView = z.custom<RunReport>((value) => typeof value === 'object' && value !== null);

/** @returns the report, or undefined when the run came to nothing new or the signal ended the wait */
export async function followRun(
  api: ApiClient,
  runId: string,
  screen: Screen,
  signal: AbortSignal,
): Promise<RunReport | undefined> {
  const shown = new Set<string>();
  let step = -1;
  while (!signal.aborted) {
    const seen = view.safeParse((await api.call('GET', `/runs/${runId}`).catch(() => undefined))?.body);
    if (seen.success) {
      await show(api, runId, { seen: seen.data, shown, screen });
      step = showProgress(seen.data, step, screen);
      if (isFinished(seen.data.run)) {
        const { status, body } = await api.call('GET', `/runs/${runId}/report`);
        return status === 200 ? finish(reportView.parse(body), screen) : undefined;
      }
    }
    await sleep(POLL_MILLISECONDS, undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}

interface Shown {
  readonly seen: RunView;
  readonly shown: Set<string>;
  readonly screen: Screen;
}

/** The timeline comes in the order of the run; a placement belongs before the attempt that it starts. */
async function show(api: ApiClient, runId: string, { seen, shown, screen }: Shown): Promise<void> {
  for (const entry of seen.timeline) {
    if (shown.has(entry.id)) continue;
    shown.add(entry.id);
    const attempt = /^started-(\d+)$/.exec(entry.id)?.[1];
    if (attempt !== undefined) {
      const { body } = await api.call('GET', `/runs/${runId}/placements/${attempt}`);
      const placement = placementView.safeParse(body);
      if (placement.success) for (const line of placementLines(placement.data)) screen.line(line);
    }
    screen.line(
      `${pc.dim(entry.at.slice(11, 19))} ${colour(entry.kind)(entry.kind.padEnd(18))} ${printable(entry.text)}`,
    );
  }
}

/** Rows shown of the table; `tidewheel why` has all of it. */
const ROWS = 8;

/** An attempt was started, so it was launched. */
function placementLines({ attempt, decision }: z.infer<typeof placementView>): readonly string[] {
  if (decision.kind !== 'launch') return [];
  const { placement } = decision;
  const shown = { ...decision, placement: { ...placement, considered: placement.considered.slice(0, ROWS) } };
  const [head = '', ...rest] = formatDecision(shown, placement.decidedAt).split('\n');
  return [`${pc.bold(`Placement of attempt ${attempt}: `)}${head}`, ...rest];
}

function colour(kind: string): (text: string) => string {
  switch (kind) {
    case 'AttemptInterrupted':
    case 'StopRequested':
    case 'RunStopped':
      return pc.yellow;
    case 'RunFailed':
      return pc.red;
    case 'RunFinished':
      return pc.green;
    default:
      return pc.cyan;
  }
}

function showProgress({ progress, run }: RunView, last: number, screen: Screen): number {
  if (progress === undefined || progress.step === last || run.status !== 'training') return last;
  screen.bar('training', progress.step, progress.totalSteps, metricTexts(progress.metrics).join('  '));
  return progress.step;
}

function finish(report: RunReport, screen: Screen): RunReport {
  if (report.status === 'empty') return report;
  screen.line();
  for (const line of reportLines(report)) screen.line(line);
  return report;
}

const usdCell = (value: number): string => (value < 0.1 ? `$${value.toFixed(4)}` : `$${value.toFixed(2)}`);

function reportLines(report: RunReport): string[] {
  const { costUsd, onDemandUsd } = report;
  return [
    pc.bold(
      `Report of ${report.runId}: ${report.status}${report.failure ? ` (${printable(report.failure)})` : ''}`,
    ),
    ...report.attempts.map(
      ({ attempt, pool, nodes, outcome, fromStep, toStep, trainingSeconds, costUsd }) =>
        `    attempt ${attempt}: ${nodes} x ${pool.instanceType} ${pool.purchaseOption} ${pool.zoneId ?? ''}  ${outcome}, step ${fromStep} → ${toStep}, ${Math.round(trainingSeconds)} s, ${usdCell(costUsd)}`,
    ),
    `    model      ${report.modelUri ?? '-'}`,
    `    metrics    ${reportedTexts(report).join(', ') || '-'}`,
    `    lost work  ${report.lostSeconds} s in ${report.interruptions} interruption${report.interruptions === 1 ? '' : 's'}`,
    ...(report.restarts === undefined ? [] : [`    restarts   ${restartText(report.restarts)}`]),
    `    cost       $${usdText(costUsd, onDemandUsd)}, on demand $${usdText(onDemandUsd, costUsd)}: ${pc.green(`saved $${savedText(report)}`)}`,
    ...promiseLines(report),
  ];
}

/** The first forecast, beside what came of it. */
function promiseLines({ promises = [], finishedAt, costUsd }: RunReport): string[] {
  const [first] = promises;
  if (first === undefined) return [];
  const { finishAt, usd } = first;
  const short = (at: string): string => at.slice(0, 16);
  return [
    `    promised   end ${short(finishAt.expected)} (${short(finishAt.low)} to ${short(finishAt.high)}), $${usdText(usd.expected)} (${usdText(usd.low)}-${usdText(usd.high)}); happened: ${short(finishedAt)}, $${usdText(costUsd)}`,
  ];
}
