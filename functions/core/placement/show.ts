/** A decision as text: the sentence, then the table. */
import type { PlacementDecision, PoolAssessment } from '../records.ts';

export function showDecision(decision: PlacementDecision): string {
  const rows = decision.kind === 'launch' ? decision.placement.considered : decision.considered;
  return [headline(decision), '', ...tableOf(rows)].join('\n');
}

function headline(decision: PlacementDecision): string {
  switch (decision.kind) {
    case 'launch': {
      const { pool, topology, reason, decidedAt } = decision.placement;
      const where = pool.zoneId ?? 'a zone of SageMaker’s choice';
      return `${decidedAt}: ${topology.nodes} x ${pool.instanceType}, ${pool.market}, in ${where}\n${reason}`;
    }
    case 'wait':
      return `wait ${decision.seconds} s\n${decision.reason}`;
    case 'giveUp':
      return `give up\n${decision.reason}`;
  }
}

const HEADS = ['pool', 'score', '$/h', 'wait', 'lasts', 'cost', 'time', 'verdict'] as const;

function tableOf(rows: readonly PoolAssessment[]): readonly string[] {
  const cells = [HEADS, ...rows.map(cellsOf)];
  const widths = HEADS.map((_, k) => Math.max(...cells.map((row) => row[k]?.length ?? 0)));
  return cells.map((row) =>
    row.map((cell, k) => (k === row.length - 1 ? cell : cell.padEnd(widths[k] ?? 0))).join('  '),
  );
}

const hours = (seconds: number | undefined): string =>
  seconds === undefined ? '-' : `${(seconds / 3_600).toFixed(1)} h`;

const cellsOf = (row: PoolAssessment): readonly string[] => [
  `${row.pool.instanceType} ${row.pool.zoneId ?? '(any zone)'} ${row.pool.market}`,
  row.score === undefined ? '-' : String(row.score),
  row.hourlyUsd.toFixed(3),
  hours(row.expectedWaitSeconds),
  hours(row.expectedUpSeconds),
  `$${row.expectedCostUsd.toFixed(2)}`,
  hours(row.expectedSeconds),
  row.verdict,
];
