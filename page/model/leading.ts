/** The metric that leads wherever a run is shown, with its best and its last value. */
import type { AnswerOf } from '../../client/operations.ts';
import { bestOf, finite, isFalling, leadingFirst, type SeriesView } from './curve.ts';
import { shortNumber } from './format.ts';

type Led = Pick<AnswerOf<'getRun'>, 'run' | 'report'>;

/** `value` is the best one; of a report without one, the last. */
export type Leading = NonNullable<ReturnType<typeof leadingOf>>;

/** As declared, as the report has it, or else what says most of what was measured. */
export function leadingName({ run, report }: Led, all: readonly SeriesView[]): string | undefined {
  const declared = run.declaration?.training.objective?.metric ?? report?.objective?.metric;
  return declared ?? run.result?.metric?.name ?? leadingFirst(all, undefined)[0]?.name;
}

/** undefined: no number is known yet */
export function leadingOf(view: Led, all: readonly SeriesView[]) {
  const name = leadingName(view, all);
  if (name === undefined) return undefined;
  const series = leadingFirst(all, name).find((each) => each.name === name);
  const mode = view.run.declaration?.training.objective?.mode;
  const best = series && bestOf(series, mode);
  if (series === undefined || best === undefined) return reported(view, name);
  const last = finite(series.points).at(-1)?.value ?? best.value;
  const which = isFalling(name, mode) ? 'lowest' : 'highest';
  const note = `${which} of ${series.pointCount}, at ${series.unit} ${shortNumber(best.position)}; last ${shortNumber(last)}`;
  return { name, value: shortNumber(best.value), note, series };
}

function reported({ report }: Led, name: string) {
  const value = report?.metrics[name];
  if (value === undefined) return undefined;
  const text = value === null ? 'no number' : shortNumber(value);
  return { name, value: text, note: 'as the run ended', series: undefined };
}
