/** The placement's table and the report, as text. */

import { launcherSuffix } from '@tidewheel/catalog/launchers.ts';
import { printable } from '@tidewheel/kit/command-line.ts';
import {
  type Placement,
  type PlacementDecision,
  type PoolAssessment,
  samePool,
} from '@tidewheel/placement/records.ts';
import pc from 'picocolors';
import { reportedTexts, savedText, usdText } from '../../client/amounts.ts';
import type { RunReport } from '../../functions/run/attempts/make-report.ts';

const usdCell = (value: number): string => (value < 0.1 ? `$${value.toFixed(4)}` : `$${value.toFixed(2)}`);

/** Rows shown of a placement; the whole table is in the API's answer. */
const ROWS = 8;

export function placementLines(attempt: number, decision: PlacementDecision): string[] {
  const head = pc.bold(`Placement of attempt ${attempt}: `) + headline(decision);
  const considered = decision.kind === 'launch' ? decision.placement.considered : decision.considered;
  const rows = considered.slice(0, ROWS).map((row) => assessmentLine(row, chosenOf(decision)));
  const more = considered.length - rows.length;
  return [
    head,
    pc.dim('    pool                              score    $/h node   exp. cost   verdict'),
    ...rows,
    ...(more > 0 ? [pc.dim(`    … and ${more} more`)] : []),
  ];
}

function headline(decision: PlacementDecision): string {
  switch (decision.kind) {
    case 'launch':
      return decision.placement.reason;
    case 'wait':
      return `wait ${decision.seconds} s: ${decision.reason}`;
    case 'giveUp':
      return `give up: ${decision.reason}`;
  }
}

const chosenOf = (decision: PlacementDecision): Placement | undefined =>
  decision.kind === 'launch' ? decision.placement : undefined;

function assessmentLine(row: PoolAssessment, chosen: Placement | undefined): string {
  const { pool, score, hourlyUsd, expectedCostUsd, verdict } = row;
  const isChosen = chosen !== undefined && samePool(pool, chosen.pool);
  const name = `${pool.instanceType} ${pool.zoneId ?? 'any zone'} ${pool.purchaseOption}${launcherSuffix(pool.launcher)}`;
  const text = `  ${isChosen ? '▶' : ' '} ${name.padEnd(34)}${String(score ?? '-').padStart(4)}${usdCell(hourlyUsd).padStart(13)}${(expectedCostUsd === undefined ? '-' : usdCell(expectedCostUsd)).padStart(12)}   ${verdict}`;
  return isChosen ? pc.green(text) : text;
}

export function reportLines(report: RunReport): string[] {
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
