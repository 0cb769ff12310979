/** What sums of money take of a run's report, so that they need not read it. Pure. */
import type { RunSpent } from '../../records/run-records.ts';
import type { AttemptReport, RunReport } from './make-report.ts';

export function spentOf(report: RunReport): RunSpent {
  const byPool = Map.groupBy(report.attempts, ({ pool: { instanceType, zoneId, purchaseOption } }) =>
    JSON.stringify([instanceType, zoneId, purchaseOption]),
  );
  return {
    pools: [...byPool.values()].flatMap((attempts) => {
      const pool = attempts[0]?.pool;
      if (pool === undefined) return [];
      return {
        instanceType: pool.instanceType,
        zoneId: pool.zoneId,
        purchaseOption: pool.purchaseOption,
        attempts: attempts.length,
        costUsd: sum(attempts, ({ costUsd }) => costUsd),
        lostSeconds: sum(attempts, ({ lostSeconds }) => lostSeconds),
        lostUsd: sum(attempts, lostUsd),
      };
    }),
    kept: keptOf(report),
  };
}

const lostUsd = ({ costUsd, lostSeconds, billableSeconds }: AttemptReport): number =>
  billableSeconds > 0 ? costUsd * Math.min(1, lostSeconds / billableSeconds) : 0;

/** Whether it ended and cost within its first forecast. */
function keptOf({ status, promises, finishedAt, costUsd }: RunReport): RunSpent['kept'] {
  const first = status === 'succeeded' ? promises?.[0] : undefined;
  if (first === undefined) return undefined;
  const within = ({ low, high }: { low: number; high: number }, happened: number): boolean =>
    happened >= low && happened <= high;
  const { low, high } = first.finishAt;
  const end = within({ low: Date.parse(low), high: Date.parse(high) }, Date.parse(finishedAt));
  return { end, cost: within(first.usd, costUsd) };
}

const sum = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0);
