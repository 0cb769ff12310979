/** A decision of placement as text: the sentence, then the table. */
import { launcherFacts, launcherSuffix } from '@tidewheel/catalog/launchers.ts';
import { dollars, hours, type PlacementDecision, type PoolAssessment } from '@tidewheel/placement/records.ts';
import { tableText } from '../command/format.ts';

/** @param at when it was decided: the forecast counts from here */
export function formatDecision(decision: PlacementDecision, at: string): string {
  const rows = decision.kind === 'launch' ? decision.placement.considered : decision.considered;
  const offers = decision.kind === 'giveUp' ? [] : (decision.offers ?? []);
  return [
    headline(decision),
    ...forecastLines(decision, at),
    ...offers,
    '',
    tableText([HEADS, ...rows.map(cellsOf)]),
  ].join('\n');
}

function forecastLines(decision: PlacementDecision, at: string): readonly string[] {
  const expected = decision.kind === 'giveUp' ? undefined : decision.expected;
  if (expected === undefined) return [];
  const { seconds, usd, lateChance = 0 } = expected;
  const late = lateChance < 0.01 ? '' : `, late with a chance of ${Math.round(lateChance * 100)} %`;
  const by = (ahead: number): string => minuteAfter(at, ahead);
  return [
    `expected: done by ${by(seconds.expected)} (nine times in ten ${by(seconds.low)} to ${by(seconds.high)})${late}; the rest costs ${dollars(usd.expected)} (${dollars(usd.low)} to ${dollars(usd.high)})`,
  ];
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

const HEADS = ['pool', 'score', '$/h', 'there now', 'else in', 'lasts', 'cost', 'time', 'verdict'] as const;

const hoursOrNone = (seconds: number | undefined): string => (seconds === undefined ? '-' : hours(seconds));

/** The price is of one node, cost and time are of the gang. Placement did not assess a pool that was left out. */
function cellsOf(row: PoolAssessment): readonly string[] {
  const { pool, topology, expectedSecondsBetween: between } = row;
  const helped = (topology.helpers ?? [])
    .map(({ nodes, instanceType }) => ` + ${nodes} x ${instanceType}`)
    .join('');
  const name = `${topology.nodes} x ${pool.instanceType}${helped} ${pool.zoneId ?? pool.region ?? '(any zone)'} ${pool.purchaseOption}${launcherSuffix(pool.launcher)}`;
  if (row.verdict.startsWith('left out')) return [name, '-', '-', '-', '-', '-', '-', '-', row.verdict];
  return [
    name,
    row.score === undefined ? '-' : String(row.score),
    row.hourlyUsd.toFixed(3),
    row.chanceNow === undefined ? '-' : `${Math.round(row.chanceNow * 100)} %`,
    row.chanceNow === 1 ? '-' : hoursOrNone(row.expectedWaitSeconds),
    hoursOrNone(row.expectedUpSeconds),
    row.expectedCostUsd === undefined ? '-' : dollars(row.expectedCostUsd),
    between
      ? `${hoursOrNone(row.expectedSeconds)} (${hours(between[0])} to ${hours(between[1])})`
      : hoursOrNone(row.expectedSeconds),
    row.verdict,
  ];
}

const minuteAfter = (at: string, seconds: number): string =>
  new Date(Date.parse(at) + seconds * 1_000).toISOString().slice(0, 16).replace('T', ' ');
