/** A decision as text: the sentence, then the table. */
import { launcherFacts, launcherSuffix } from '@tidewheel/catalog/launchers.ts';
import { dollars, hours } from '../model/amounts.ts';
import type { PlacementDecision, PoolAssessment } from '../records/placement-records.ts';

/** @param at when it was decided: `done by` counts from here */
export function formatDecision(decision: PlacementDecision, at: string): string {
  const rows = decision.kind === 'launch' ? decision.placement.considered : decision.considered;
  return [headline(decision), '', ...tableOf(rows, at)].join('\n');
}

function headline(decision: PlacementDecision): string {
  switch (decision.kind) {
    case 'launch': {
      const { pool, topology, reason, decidedAt } = decision.placement;
      const where = [pool.region, pool.zoneId ?? 'a zone of SageMaker’s choice'].filter(Boolean).join(' ');
      return `${decidedAt}: ${topology.nodes} x ${pool.instanceType}, ${pool.purchaseOption}, in ${where}, on ${launcherFacts[pool.launcher].serviceName}\n${reason}`;
    }
    case 'wait':
      return `wait ${decision.seconds} s\n${decision.reason}`;
    case 'giveUp':
      return `give up\n${decision.reason}`;
  }
}

const HEADS = [
  'pool',
  'score',
  '$/h',
  'there now',
  'else in',
  'lasts',
  'cost',
  'time',
  'done by',
  'verdict',
] as const;

function tableOf(rows: readonly PoolAssessment[], at: string): readonly string[] {
  const cells = [HEADS, ...rows.map((row) => cellsOf(row, at))];
  const widths = HEADS.map((_, k) => Math.max(...cells.map((row) => row[k]?.length ?? 0)));
  return cells.map((row) =>
    row.map((cell, k) => (k === row.length - 1 ? cell : cell.padEnd(widths[k] ?? 0))).join('  '),
  );
}

const hoursOrNone = (seconds: number | undefined): string => (seconds === undefined ? '-' : hours(seconds));

/** The price is of one node, cost and time are of the gang. Placement did not assess a pool that was left out. */
function cellsOf(row: PoolAssessment, at: string): readonly string[] {
  const { pool, topology, expectedSecondsBetween: between } = row;
  const helped = (topology.helpers ?? [])
    .map(({ nodes, instanceType }) => ` + ${nodes} x ${instanceType}`)
    .join('');
  const name = `${topology.nodes} x ${pool.instanceType}${helped} ${pool.zoneId ?? pool.region ?? '(any zone)'} ${pool.purchaseOption}${launcherSuffix(pool.launcher)}`;
  if (row.verdict.startsWith('left out')) return [name, '-', '-', '-', '-', '-', '-', '-', '-', row.verdict];
  return [
    name,
    row.score === undefined ? '-' : String(row.score),
    row.hourlyUsd.toFixed(3),
    row.chanceNow === undefined ? '-' : `${Math.round(row.chanceNow * 100)} %`,
    row.chanceNow === 1 ? '-' : hoursOrNone(row.expectedWaitSeconds),
    hoursOrNone(row.expectedUpSeconds),
    dollars(row.expectedCostUsd),
    between
      ? `${hours(row.expectedSeconds)} (${hours(between[0])} to ${hours(between[1])})`
      : hours(row.expectedSeconds),
    minuteAfter(at, row.expectedSeconds),
    row.verdict,
  ];
}

const minuteAfter = (at: string, seconds: number): string =>
  new Date(Date.parse(at) + seconds * 1_000).toISOString().slice(0, 16).replace('T', ' ');
