/** Limits as a reader fills them in. */

export const LIMITS = { deadlineHours: 'deadline in hours', budgetUsd: 'budget in USD' } as const;

/**
 * The fields that were filled in, by their names, or why they cannot be sent. A text that is no number would become null
 * in JSON, which takes a limit out.
 */
export function parseLimits(
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, number>> | string {
  const filled = Object.keys(LIMITS).filter((name) => given[name]?.trim());
  const limits = Object.fromEntries(filled.map((name) => [name, Number(given[name])]));
  const wrong = Object.entries(LIMITS).filter(([name]) => !Number.isFinite(limits[name] ?? 0));
  if (wrong.length > 0)
    return wrong.map(([name, label]) => `${label} is "${given[name]}": write a number.`).join(' ');
  return filled.length === 0 ? 'Fill in a deadline or a budget first.' : limits;
}
