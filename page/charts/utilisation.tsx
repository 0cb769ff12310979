/** How busy the hosts of a run were, over all attempts, on the axis of its life line. */
import { useMemo } from 'preact/hooks';
import { evenly } from '../model/curve.ts';
import { percentText, timeText } from '../model/format.ts';
import { columnsOfUtilisation, meanOf, type UtilisationView } from '../model/utilisation-rows.ts';
import { Numbers, numbers, Table } from '../parts/table.tsx';
import type { Range } from './life-line.tsx';
import { Plot } from './plot.tsx';

const MOST_ROWS = 200;

const LINES = [
  { label: 'CPU', colour: '--spot' },
  { label: 'GPU', colour: '--on-demand', dash: [8, 3] },
  { label: 'waiting for data', colour: '--bad', dash: [2, 3] },
];

interface UtilisationChartProps {
  readonly utilisation: UtilisationView;
  readonly range: Range;
  readonly onRange: (range: Range) => void;
}

export function UtilisationChart({ utilisation, range, onRange }: UtilisationChartProps) {
  const { points, hostsLeftOut } = utilisation;
  const data = useMemo(() => columnsOfUtilisation(points), [points]);
  const means = [meanOf(points, 'cpuBusy'), meanOf(points, 'gpuBusy'), meanOf(points, 'waiting')];
  const leftOut = hostsLeftOut > 0 ? `; without ${hostsLeftOut} hosts, too many to read` : '';
  return (
    <figure class="curve-figure">
      <figcaption>
        <h2>utilisation</h2>
        <span class="quiet">{`mean over the hosts${leftOut}`}</span>
      </figcaption>
      <Plot
        label="utilisation by time"
        axis="time"
        range={range}
        onRange={onRange}
        lines={LINES}
        data={data}
        valueText={percentText}
        extent={[0, 1]}
      />
      <ul class="legend">
        {LINES.map(({ label }, place) => {
          const mean = means[place];
          return mean === undefined ? null : (
            <li key={label}>
              <svg viewBox="0 0 24 12" aria-hidden="true">
                <line class={`line line-${place}`} x1={0} x2={24} y1={6} y2={6} />
              </svg>
              {`${label}, mean ${percentText(mean)}`}
            </li>
          );
        })}
      </ul>
      <Numbers id="utilisation-numbers">{() => <PointsTable utilisation={utilisation} />}</Numbers>
    </figure>
  );
}

const PointsTable = ({ utilisation: { points } }: { readonly utilisation: UtilisationView }) => (
  <Table
    caption="numbers of the utilisation"
    columns={['until', ...numbers('attempt', 'hosts', ...LINES.map(({ label }) => label))]}
    rows={evenly(points, MOST_ROWS).map(({ at, attempt, hosts, cpuBusy, gpuBusy, waiting }) => [
      timeText(at),
      attempt,
      hosts,
      percentText(cpuBusy),
      gpuBusy === undefined ? '' : percentText(gpuBusy),
      percentText(waiting),
    ])}
  />
);
