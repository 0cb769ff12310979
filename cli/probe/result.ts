/** The table of a probe and what it recommends. */
import {
  type MeasuredMean,
  type ProbedCell,
  type ProbeVerdict,
  probeVerdict,
  rankedText,
  UNIT_PRICES,
  unitCostUsd,
} from '@tidewheel/doctor/probe.ts';
import { safe, tableText } from '../command/format.ts';
import type { Ended, EndedCell } from './cells.ts';

/** Those that were measured. */
export function verdictOfProbe({ cells }: Pick<Ended, 'cells'>): ProbeVerdict | undefined {
  return probeVerdict(cells.flatMap((each) => measuredCell(each) ?? []));
}

const measuredCell = ({ cell, probe }: EndedCell): ProbedCell | undefined =>
  probe.speed === undefined
    ? undefined
    : { name: cell.name, speed: probe.speed, usdPerHour: probe.usdPerHour ?? cell.usdPerHour };

export function resultText(ended: Ended): string {
  const verdict = verdictOfProbe(ended);
  const unit = verdict?.unit ?? 'steps';
  const head = ['settings', 'run', 'place', 'step s', 'samples/s', UNIT_PRICES[unit], 'cost'];
  const rows = ended.cells.map((each) => rowOf(each, unit));
  const spent = ended.cells.reduce((sum, { probe }) => sum + probe.costUsd, 0);
  return [
    ...(rows.length === 0 ? [] : [tableText([head, ...rows])]),
    ...ended.leftOut.map(({ name, why }) => `not started: ${name}: ${safe(why)}`),
    '',
    ...(verdict === undefined ? ['fewer than two cells were measured: nothing to compare'] : advice(verdict)),
    ...clockNote(ended),
    `spent USD ${spent.toFixed(4)}`,
  ].join('\n');
}

/** On one machine. */
function clockNote({ cells }: Ended): readonly string[] {
  const clocks = new Set(cells.flatMap(({ probe }) => probe.speed?.clock ?? []));
  if (!clocks.has('host')) return [];
  return clocks.size > 1
    ? ['measured by different clocks, so not to be compared: docs/probing.md#on-one-machine']
    : ['measured by the clocks of the hosts, which count CPU time: docs/probing.md#on-one-machine'];
}

function rowOf(each: EndedCell, unit: ProbeVerdict['unit']): string[] {
  const { cell, probe } = each;
  const measured = measuredCell(each);
  const { topology = cell.place, costUsd, runId, status, failure } = probe;
  if (measured === undefined)
    return [cell.name, runId, topology, `${status}${failure === undefined ? '' : `: ${safe(failure)}`}`];
  const { stepSeconds, samplesPerSecond } = measured.speed;
  return [
    cell.name,
    runId,
    topology,
    between(stepSeconds, 4),
    samplesPerSecond === undefined ? '-' : between(samplesPerSecond, 1),
    between(unitCostUsd(measured, unit), 4),
    `$${costUsd.toFixed(4)}`,
  ];
}

const between = ({ mean, low, high }: MeasuredMean, digits: number): string =>
  `${mean.toFixed(digits)} (${low.toFixed(digits)}-${high.toFixed(digits)})`;

function advice({ unit, cheapest, fastest }: ProbeVerdict): readonly string[] {
  return [
    `cheapest: ${rankedText(cheapest, 'dearer')}`,
    `fastest:  ${rankedText(fastest, 'slower')}`,
    ...(unit === 'steps'
      ? ['not every script tells its samples: the comparison holds where a step of each does the same work']
      : []),
  ];
}
