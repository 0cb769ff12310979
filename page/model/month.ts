/** A month of money. Months are those of UTC, as in AWS's bills. */
interface Spent {
  readonly from: string;
  readonly to: string;
  readonly total: { readonly costUsd: number };
}

/** @returns USD by the end of the month at the rate so far; undefined for a month that is over or has just begun */
export function forecastUsd({ from, to, total }: Spent, now: Date): number | undefined {
  const [begin, end] = [Date.parse(from), Date.parse(to)];
  const share = (now.getTime() - begin) / (end - begin);
  return share > 0.03 && share < 1 ? total.costUsd / share : undefined;
}

/** @param month such as 2026-01 */
export function monthBefore(month: string): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number - 2, 1)).toISOString().slice(0, 7);
}
