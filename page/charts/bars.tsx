/** Small charts as SVG: bars of days or runs, and the line of a row. */

/** `kind` is the class of its colour. */
type Bar = Readonly<{ name: string; value: number; kind: string }>;

/** Of `places` fewer bars do not spread over the whole width. */
export type BarsProps = Readonly<{ label: string; bars: readonly Bar[]; places?: number }> &
  Readonly<{ class: 'bars' | 'sparks' }>;

const WIDTH = 10;
const HEIGHT = 100;
const LEAST = 8;

export function Bars({ label, bars, places = 1, ...more }: BarsProps) {
  const highest = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE);
  const box = `0 0 ${Math.max(places, bars.length) * WIDTH} ${HEIGHT}`;
  return (
    <svg class={more.class} viewBox={box} preserveAspectRatio="none" role="img" aria-label={label}>
      {bars.map(({ name, value, kind }, place) => {
        const height = value <= 0 && more.class === 'bars' ? 0 : Math.max(LEAST, (value / highest) * HEIGHT);
        const box = { x: place * WIDTH + 1.5, y: HEIGHT - height, width: WIDTH - 3, height };
        return (
          <rect key={name} class={kind} {...box}>
            <title>{name}</title>
          </rect>
        );
      })}
    </svg>
  );
}

/** @param values at least two, or nothing is drawn */
export function Sparkline({ label, values }: { readonly label: string; readonly values: readonly number[] }) {
  if (values.length < 2) return null;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const points = values.map((value, place) => {
    const [x, y] = [place / (values.length - 1), (value - low) / (high - low || 1)];
    return `${(x * 100).toFixed(1)},${(19 - y * 18).toFixed(1)}`;
  });
  return (
    <svg class="spark" viewBox="0 0 100 20" preserveAspectRatio="none" role="img" aria-label={label}>
      <polyline points={points.join(' ')} vector-effect="non-scaling-stroke" stroke-width={1.5} />
    </svg>
  );
}
