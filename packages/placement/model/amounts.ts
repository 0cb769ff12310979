/** Formats times and amounts of money, the same way in every sentence and table. */

/** In hours; what is less than a tenth of one in minutes, or in seconds. */
export function hours(seconds: number): string {
  if (seconds >= 360 || seconds <= 0) return `${(seconds / 3_600).toFixed(1)} h`;
  return seconds >= 60 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds)} s`;
}

/** With cents; amounts below a cent with two significant digits. */
export const dollars = (amount: number): string =>
  `$${amount > 0 && amount < 0.01 ? amount.toPrecision(2) : amount.toFixed(2)}`;
