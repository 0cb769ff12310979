/** Small bars as SVG: days of a month, or the last runs of a pipeline. */
interface Bar {
  readonly name: string;
  readonly value: number;
  /** Class of its colour. */
  readonly kind?: string;
}

interface BarsProps {
  readonly label: string;
  readonly bars: readonly Bar[];
  readonly class: string;
  /** Names of the first and the last bar. */
  readonly ends?: readonly [string, string];
}

const WIDTH = 10;
const HEIGHT = 100;
const LEAST = 6;

export const Bars = ({ ends, ...props }: BarsProps) => (
  <>
    <Drawn {...props} />
    {ends !== undefined && (
      <p class="ends">
        <span>{ends[0]}</span>
        <span>{ends[1]}</span>
      </p>
    )}
  </>
);

function Drawn({ label, bars, ...more }: Omit<BarsProps, 'ends'>) {
  const highest = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE);
  return (
    <svg
      class={more.class}
      viewBox={`0 0 ${Math.max(1, bars.length) * WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {bars.map(({ name, value, kind = 'bar' }, place) => {
        const height = Math.max(LEAST, (value / highest) * HEIGHT);
        return (
          <rect
            key={name}
            class={kind}
            x={place * WIDTH + 1}
            y={HEIGHT - height}
            width={WIDTH - 2}
            height={height}
          >
            <title>{name}</title>
          </rect>
        );
      })}
    </svg>
  );
}
