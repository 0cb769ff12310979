/** Formats times and amounts of money, the same way in every sentence and table. */

export const hours = (seconds: number): string => `${(seconds / 3_600).toFixed(1)} h`;

/** With cents; amounts below a cent with two significant digits. */
export const dollars = (amount: number): string =>
  `$${amount > 0 && amount < 0.01 ? amount.toPrecision(2) : amount.toFixed(2)}`;
