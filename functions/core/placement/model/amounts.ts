/** How decisions write times and sums of money, the same in every sentence and table. */

export const hours = (seconds: number): string => `${(seconds / 3_600).toFixed(1)} h`;

/** In cents; of what is less than a cent the first two digits. */
export const usd = (amount: number): string =>
  `$${amount > 0 && amount < 0.01 ? amount.toPrecision(2) : amount.toFixed(2)}`;
