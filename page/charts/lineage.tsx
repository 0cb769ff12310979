/** The models of a pipeline, drop by drop: the leading metric of each with its interval, and which one is in use. */
import { shortNumber, whenText } from '../model/format.ts';
import { type Drop, ticksWithin } from '../model/lineage.ts';
import { modelsHref } from '../state/address.ts';
import { useFrame } from './figure.tsx';

const [TOP, BOTTOM, LANE, HEIGHT] = [30, 178, 198, 232];
/** A narrow frame opens at its right end, so the axis is there. */
const [LEFT, RIGHT] = [12, 56];
const [NARROWEST, WIDEST] = [12, 84];
/** Of the number of a run. */
const LABEL_WIDTH = 56;

type LineageProps = Readonly<{ drops: readonly Drop[]; metric?: string | undefined }> &
  Readonly<Record<'pipeline' | 'chosen', string>>;

export function LineageChart({ drops, metric = 'models', pipeline, chosen }: LineageProps) {
  const { width: room, frame } = useFrame(0);
  const { ticks, y } = scaleOf(drops);
  const column = Math.max(NARROWEST, Math.min(WIDEST, (room - LEFT - RIGHT) / drops.length));
  const width = Math.max(room, LEFT + RIGHT + column * drops.length);
  const every = Math.ceil(LABEL_WIDTH / column);
  const placed = drops.map((drop, place) => ({
    ...drop,
    x: LEFT + column * (place + 0.5),
    y: y(drop.value),
  }));
  const at = new Map(placed.map((drop) => [drop.runId, drop]));
  const used = placed.filter(({ state, value }) => isUsed(state) && value !== undefined);
  const trunk = used.map((drop, place) => (place === 0 ? `M${drop.x} ${drop.y}` : `H${drop.x}V${drop.y}`));
  const began = placed.flatMap(({ from = '', x, y: end }) => {
    const start = at.get(from);
    const half = ((start?.x ?? 0) + x) / 2;
    return start ? [`M${start.x} ${start.y}C${half} ${start.y} ${half} ${end} ${x} ${end}`] : [];
  });
  return (
    <div class="scroll" ref={frame} tabIndex={0} role="region" aria-label="models, drawn">
      <svg class="lineage" width={width} height={HEIGHT} role="group" aria-label={`${metric} by drop`}>
        {ticks.map((tick) => (
          <g key={tick}>
            <path stroke="var(--line)" d={`M${LEFT} ${y(tick)}H${width - RIGHT}`} />
            <text x={width - 8} y={y(tick) + 4} text-anchor="end">
              {shortNumber(tick)}
            </text>
          </g>
        ))}
        {placed.map((drop) => {
          const said = saidOf(drop, metric);
          const box = { x: drop.x - column / 2, y: 4, width: column, height: HEIGHT - 8, rx: 6 };
          return (
            <a key={drop.runId} href={modelsHref(pipeline, drop.runId)} aria-label={said}>
              <rect class={drop.runId === chosen ? 'column here' : 'column'} {...box}>
                <title>{said}</title>
              </rect>
            </a>
          );
        })}
        <path stroke="var(--waits)" stroke-dasharray="2 3" d={began.join('')} />
        <path stroke="var(--good)" d={trunk.join('')} />
        {placed.map((drop, place) => (
          <g key={drop.runId} class={`is-${drop.state}`} text-anchor="middle">
            <Mark drop={drop} x={drop.x} y={y} />
            <text x={drop.x} y={HEIGHT - 12}>
              {(drops.length - 1 - place) % every === 0 && drop.runId.replace(/^.*-0*(?=\d)/, '')}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}

const isUsed = (state: Drop['state']): boolean => state === 'current' || state === 'former';

function scaleOf(drops: readonly Drop[]) {
  const values = drops.flatMap(({ value = [], interval = [] }) => [value, interval].flat());
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const margin = (most - least || Math.abs(most) || 1) * 0.08;
  const [low, high] = [least - margin, most + margin];
  return {
    ticks: values.length === 0 ? [] : ticksWithin(low, high),
    y: (value: number | undefined): number =>
      value === undefined ? LANE : BOTTOM - ((value - low) / (high - low)) * (BOTTOM - TOP),
  };
}

type MarkProps = Readonly<{ drop: Drop; x: number; y: (value: number | undefined) => number }>;

/** A shape for each state, as colour alone tells nothing. */
function Mark({ drop: { state, hasModel, value, interval }, x, y }: MarkProps) {
  const at = y(value);
  const [low, high] = interval ?? [];
  const isRejected = state === 'rejected';
  return (
    <>
      {interval && <path class="mark" opacity={0.45} d={`M${x} ${y(low)}V${y(high)}`} />}
      {!hasModel && <rect x={x - 2} y={LANE - 5} width={4} height={10} rx={1} />}
      {isRejected && <path class="mark" d={`M${x - 4} ${at - 4}l8 8m0-8l-8 8`} />}
      {hasModel && !isRejected && (
        <circle class={isUsed(state) ? '' : 'mark hollow'} cx={x} cy={at} r={state === 'current' ? 6 : 4.5} />
      )}
      <text class="strong" x={x} y={Math.min(at, y(high ?? value)) - 10}>
        {state === 'current' && 'in use'}
      </text>
    </>
  );
}

/** Such as `digits-000012, 3 Nov, 09:05: candidate, accuracy 0.912 (0.90 to 0.92)`. */
function saidOf({ runId, at, state, value, interval }: Drop, metric = 'metric'): string {
  const reached = value === undefined ? '' : `, ${metric} ${shortNumber(value)}`;
  const between = interval === undefined ? '' : ` (${interval.map(shortNumber).join(' to ')})`;
  return `${runId}, ${whenText(at)}: ${state}${reached}${between}`;
}
