/** Amounts in words, as the command line and the page both write them. */
const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;

/** "42 s", "3 m 05 s", "5 h 12 m", "2 d 4 h". */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const two = (value: number) => String(value).padStart(2, '0');
  if (whole < MINUTE) return `${whole} s`;
  if (whole < HOUR) return `${Math.floor(whole / MINUTE)} m ${two(whole % MINUTE)} s`;
  if (whole < DAY) return `${Math.floor(whole / HOUR)} h ${two(Math.floor((whole % HOUR) / MINUTE))} m`;
  return `${Math.floor(whole / DAY)} d ${Math.floor((whole % DAY) / HOUR)} h`;
}

/** Such as "28 % chance of being late"; nothing where the chance is below what is worth saying. */
export const lateTexts = (chance = 0, worthSaying = 0.05): string[] =>
  chance < worthSaying ? [] : [`${Math.round(chance * 100)} % chance of being late`];

/** The parts of a restart, such as "1 m 24 s: detect 2 s, capacity 1 m 22 s"; those below half a second are left out. */
export function restartText(parts: Readonly<Record<string, number | undefined>>): string {
  const known = Object.entries(parts).map(([name, seconds = 0]) => ({ name, seconds }));
  const all = known.reduce((sum, { seconds }) => sum + seconds, 0);
  const long = known.filter(({ seconds }) => seconds >= 0.5);
  const texts = long.map(
    ({ name, seconds }) => `${name === 'firstStep' ? 'first step' : name} ${durationText(seconds)}`,
  );
  // Hooks measure what the script does until its first step, and not in a short run.
  const measured =
    parts['firstStep'] === undefined ? `${durationText(all)} up to the script` : durationText(all);
  return [measured, ...(texts.length > 0 ? [texts.join(', ')] : [])].join(': ');
}

const PRECISE_BELOW = 0.01;

const isTiny = (usd: number): boolean => usd !== 0 && Math.abs(usd) < PRECISE_BELOW;

/**
 * Cents, and below one cent their hundredths. Without a sign of the currency.
 * @param beside amounts that a person adds to it or compares with it: all have as many digits
 */
export const usdText = (usd: number, ...beside: readonly number[]): string =>
  usd.toFixed([usd, ...beside].some(isTiny) ? 4 : 2);

interface Savings {
  readonly costUsd: number;
  readonly onDemandUsd: number;
  readonly savedPercent: number;
}

/** The difference of the amounts as they are shown, such as "14.72 (82 %)". */
export function savedText({ costUsd, onDemandUsd, savedPercent }: Savings): string {
  const [cost, onDemand] = [usdText(costUsd, onDemandUsd), usdText(onDemandUsd, costUsd)].map(Number);
  return `${usdText((onDemand ?? 0) - (cost ?? 0), costUsd, onDemandUsd)} (${Math.round(savedPercent)} %)`;
}

type Metrics = Readonly<Record<string, number | null>>;

const metricNumber = (value: number): number =>
  Number(Math.abs(value) < 1 ? value.toPrecision(4) : value.toFixed(4));

/** Such as `accuracy 0.9712`; small values keep four digits. */
export const metricText = (name: string, value: number | null): string =>
  value === null ? `${name} is no number` : `${name} ${metricNumber(value)}`;

export const metricTexts = (metrics: Metrics = {}): string[] =>
  Object.entries(metrics).map(([name, value]) => metricText(name, value));

interface Measured {
  readonly metrics: Metrics;
  readonly objective?:
    | {
        readonly metric: string;
        readonly best?:
          | { readonly value: number; readonly position: number; readonly unit: string }
          | undefined;
      }
    | undefined;
}

/** The last value of each metric; the one that the run was trained for comes first, with its best. */
export function reportedTexts({ metrics, objective }: Measured): string[] {
  const texts = metricTexts(metrics);
  if (objective === undefined) return texts;
  const { metric, best } = objective;
  const [first = '', ...others] = texts;
  if (!Object.hasOwn(metrics, metric)) return [`${metric}: the script gave none`, ...texts];
  const where = best && `${first} (best ${metricNumber(best.value)} at ${best.unit} ${best.position})`;
  return [where ?? first, ...others];
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'] as const;

/** By thousands, as disks and bills count. */
export function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** power;
  return `${power === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${UNITS[power]}`;
}

/** Three digits say as much as most differences of models show. */
export const scoreText = (value: number): string => String(Number(value.toPrecision(3)));

/** Such as `+0.015 (0.004 to 0.026)`. */
export function signedText(better: number, [low, high]: readonly number[] = []): string {
  const range = low === undefined || high === undefined ? '' : ` (${scoreText(low)} to ${scoreText(high)})`;
  return `${better > 0 ? '+' : ''}${scoreText(better)}${range}`;
}

interface Compared {
  readonly metric: string;
  readonly mean?: number | undefined;
  readonly against?: string | undefined;
  readonly pairs?: number | undefined;
  readonly better?: number | undefined;
  readonly interval?: readonly number[] | undefined;
}

/** Such as `accuracy 0.912, +0.015 (0.004 to 0.026) against digits-000003 on 2,000 samples`. */
export function judgedText({ metric, mean, against = '-', pairs, better, interval }: Compared): string {
  const reached = mean === undefined ? `no ${metric}` : `${metric} ${scoreText(mean)}`;
  if (better === undefined || pairs === undefined) return reached;
  return `${reached}, ${signedText(better, interval)} against ${against} on ${pairs.toLocaleString('en')} samples`;
}
