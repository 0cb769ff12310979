/** Several curves over each other, as SVG: few points, any axis, and a dash pattern beside the colour. */
import type { ComparedBy, Point } from '../model/compared-runs.ts';
import { evenly } from '../model/curve.ts';
import { shortNumber } from '../model/format.ts';
import { Numbers, numbers, Table } from '../parts/table.tsx';

export interface CurveLine {
  readonly name: string;
  readonly points: readonly Point[];
}

interface CompareCurveProps {
  readonly name: string;
  readonly by: ComparedBy;
  readonly lines: readonly CurveLine[];
}

const WIDTH = 1000;
const HEIGHT = 260;
const MOST_ROWS = 40;

export function CompareCurve({ name, by, lines }: CompareCurveProps) {
  const all = lines.flatMap(({ points }) => points);
  if (all.length === 0) return <p class="quiet">No number to compare.</p>;
  const [left, right] = extent(all.map(({ x }) => x));
  const [low, high] = extent(all.map(({ y }) => y));
  const place = ({ x, y }: Point): string =>
    `${(((x - left) / (right - left || 1)) * WIDTH).toFixed(1)},${(HEIGHT - 4 - ((y - low) / (high - low || 1)) * (HEIGHT - 8)).toFixed(1)}`;
  return (
    <figure>
      <svg
        class="compare"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${name} of ${lines.length} runs by ${by}`}
      >
        {lines.map((line, index) => (
          <polyline key={line.name} class={`line line-${index}`} points={line.points.map(place).join(' ')}>
            <title>{line.name}</title>
          </polyline>
        ))}
      </svg>
      <p class="ends">
        <span>{`${by} ${shortNumber(left)}`}</span>
        <span>{`${name} from ${shortNumber(low)} to ${shortNumber(high)}`}</span>
        <span>{`${by} ${shortNumber(right)}`}</span>
      </p>
      <ul class="legend">
        {lines.map((line, index) => (
          <li key={line.name}>
            <svg viewBox="0 0 24 12" aria-hidden="true">
              <line class={`line line-${index}`} x1={0} x2={24} y1={6} y2={6} />
            </svg>
            {line.name}
          </li>
        ))}
      </ul>
      <Numbers id="compare-numbers">
        {() => (
          <Table
            caption={`${name} by ${by}`}
            columns={['run', ...numbers(by, name)]}
            rows={lines.flatMap((line) =>
              evenly(line.points, MOST_ROWS).map(({ x, y }) => [line.name, shortNumber(x), String(y)]),
            )}
          />
        )}
      </Numbers>
    </figure>
  );
}

function extent(values: readonly number[]): readonly [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return [low, high];
}
