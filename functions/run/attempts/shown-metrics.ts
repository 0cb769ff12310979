/** The last values of a run's metrics, those that say most first, and the best of the one that it is trained for. Pure. */
import * as z from 'zod';
import { isPosition, lastValues, type Series } from '../../records/series.ts';

type Values = Readonly<Record<string, number | null>>;

const place = z.object({ value: z.number(), position: z.number(), unit: z.enum(['step', 'epoch']) });

export const objectiveReportSchema = z
  .object({
    metric: z.string(),
    mode: z.enum(['min', 'max']),
    best: place.optional().describe('Absent where the script gave no such number.'),
  })
  .describe('As declared, and the best value that was measured.');
type ObjectiveReport = z.output<typeof objectiveReportSchema>;

interface Declared {
  readonly objective?: Pick<ObjectiveReport, 'metric' | 'mode'> | undefined;
}

interface ShownMetrics {
  readonly metrics: Values;
  readonly objective: ObjectiveReport | undefined;
  /** The first of them; undefined where the declared one was never given. */
  readonly leading: { readonly name: string; readonly value: number | null } | undefined;
}

/** @param saved values of the newest checkpoint, for names that no series has */
export function shownMetrics(
  series: readonly Series[],
  saved: Values = {},
  { objective }: Declared = {},
): ShownMetrics {
  const found = Object.entries({ ...saved, ...lastValues(series) }).filter(([name]) => !isPosition(name));
  const rank = (name: string): number =>
    name === objective?.metric ? -1 : KINDS.findIndex((kind) => kind.test(name));
  const ordered = found.toSorted(([one], [other]) => rank(one) - rank(other));
  const metrics = Object.fromEntries(ordered);
  const [name] = objective === undefined ? (ordered[0] ?? []) : [objective.metric];
  const value = name === undefined || !Object.hasOwn(metrics, name) ? undefined : metrics[name];
  return {
    metrics,
    objective: objective && { ...objective, best: bestOf(series, objective) },
    leading: name === undefined || value === undefined ? undefined : { name, value },
  };
}

/** By their names: of data that was not trained on, of training, and settings that only accompany it. */
const KINDS: readonly RegExp[] = [
  /(^|[^a-z])(test|eval|val|valid|validation|dev)([^a-z]|$)/i,
  /^(?!.*((^|[^a-z])lr([^a-z]|$)|learning_?rate|grad_?norm))/i,
  /^/,
];

function bestOf(
  series: readonly Series[],
  { metric, mode }: Pick<ObjectiveReport, 'metric' | 'mode'>,
): z.output<typeof place> | undefined {
  const points = series
    .filter(({ name }) => name === metric)
    .flatMap(({ unit, points: all }) =>
      all.flatMap(({ position, value }) => (value === null ? [] : [{ value, position, unit }])),
    );
  const sign = mode === 'min' ? 1 : -1;
  return points.reduce<(typeof points)[number] | undefined>(
    (best, each) => (best !== undefined && sign * best.value <= sign * each.value ? best : each),
    undefined,
  );
}
