/** Limits as a reader fills them in. */

export type WrittenLimits = Readonly<Record<'deadlineHours' | 'budgetUsd', string>>;

export type Limits = Partial<Readonly<Record<keyof WrittenLimits, number | undefined>>>;

const NAMES: readonly (readonly [keyof WrittenLimits, string])[] = [
  ['deadlineHours', 'deadline in hours'],
  ['budgetUsd', 'budget in USD'],
];

type Parsed =
  | { readonly kind: 'limits'; readonly limits: Readonly<Record<string, number>> }
  | { readonly kind: 'wrong'; readonly message: string };

/**
 * The fields that were filled in, or why they cannot be sent. A text that is no number would become null in JSON, which
 * takes a limit out.
 */
export function parseLimits(written: WrittenLimits): Parsed {
  const filled = NAMES.filter(([name]) => written[name].trim() !== '');
  if (filled.length === 0) return { kind: 'wrong', message: 'Fill in a deadline or a budget first.' };
  const wrong = filled.flatMap(([name, text]) => {
    const value = Number(written[name]);
    return value > 0 && Number.isFinite(value)
      ? []
      : `${text} is "${written[name]}": write a number above 0.`;
  });
  if (wrong.length > 0) return { kind: 'wrong', message: wrong.join(' ') };
  return {
    kind: 'limits',
    limits: Object.fromEntries(filled.map(([name]) => [name, Number(written[name])])),
  };
}
