/** Limits as a reader fills them in. */

export type WrittenLimits = Readonly<Record<'deadlineHours' | 'budgetUsd', string>>;

type Limits = Partial<Readonly<Record<keyof WrittenLimits, number>>>;

const NAMES: readonly (readonly [keyof WrittenLimits, string])[] = [
  ['deadlineHours', 'deadline in hours'],
  ['budgetUsd', 'budget in USD'],
];

/**
 * The fields that were filled in, or why they cannot be sent. A text that is no number would become null in JSON, which
 * takes a limit out.
 */
export function parseLimits(
  written: WrittenLimits,
):
  | { readonly kind: 'limits'; readonly limits: Limits }
  | { readonly kind: 'wrong'; readonly message: string } {
  const filled = NAMES.filter(([name]) => written[name].trim() !== '');
  if (filled.length === 0) return { kind: 'wrong', message: 'Fill in a deadline or a budget first.' };
  const wrong = filled.filter(
    ([name]) => !(Number(written[name]) > 0 && Number.isFinite(Number(written[name]))),
  );
  return wrong.length > 0
    ? {
        kind: 'wrong',
        message: wrong
          .map(([name, text]) => `${text} is "${written[name]}": write a number above 0.`)
          .join(' '),
      }
    : { kind: 'limits', limits: Object.fromEntries(filled.map(([name]) => [name, Number(written[name])])) };
}
