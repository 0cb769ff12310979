/** What a run has cost so far, what it will cost, and what On-Demand would have cost, from its records. Pure. */
import { list, seconds, time, usd } from '@tidewheel/kit/fields.ts';
import { attemptCost, fileSystemsUsd, hoursCost, type Progress } from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import { type AttemptRecord, FINISHED, type RunRecord } from '../../records/run-records.ts';
import { type ForecastInterval, forecast, intervalSchema, timesSchema } from './forecast.ts';
import { deadlineAt, endedOnDemandUsd, lostTraining } from './make-report.ts';
import { heldHourlyUsd } from './stop-rules.ts';
import { isUp } from './unsaved.ts';

export const moneySchema = z.object({
  asOf: time,
  usd: usd.describe('So far.'),
  usdPerSecond: z.number().describe('By how much it grows while hosts are held.'),
  byPurchaseOption: list(z.object({ purchaseOption: z.enum(['spot', 'on-demand']), seconds, usd })),
  lost: z.object({ seconds, usd }).describe('Work that was not saved, or was done again.'),
  onDemandUsd: usd.describe('What ran so far, on On-Demand instances: without the work that Spot lost.'),
  expected: z
    .object({
      usd: intervalSchema.describe('Of the whole run; 90 % interval.'),
      finishAt: timesSchema,
      onDemandUsd: usd,
      basis: z.enum(['measured', 'declared']).describe('declared: from former runs.'),
    })
    .optional()
    .describe('Absent for an ended run, and while nothing says how much is left.'),
  deadlineAt: time.optional(),
  budgetUsd: usd.optional(),
});
export type Money = z.output<typeof moneySchema>;
type ExpectedMoney = NonNullable<Money['expected']>;

export interface MoneyQuestion {
  readonly run: RunRecord;
  /** Oldest first. */
  readonly attempts: readonly AttemptRecord[];
  readonly progress?: Progress | undefined;
  readonly now: Date;
}

export function moneyOf({ run, attempts, progress, now }: MoneyQuestion): Money {
  const spent = attempts.map((attempt) => spentOn(attempt, now));
  const open = attempts.at(-1);
  const holds = open !== undefined && isUp(open) && !FINISHED.includes(run.status);
  const usd = sum(spent.map((each) => each.usd));
  const onDemandUsd = endedOnDemandUsd(attempts) + sum(spent.map((each) => each.onDemandUsd));
  return {
    asOf: now.toISOString(),
    usd,
    usdPerSecond: holds ? heldHourlyUsd(open.placement) / 3_600 : 0,
    byPurchaseOption: (['spot', 'on-demand'] as const).flatMap((purchaseOption) => {
      const own = spent.filter((each) => each.purchaseOption === purchaseOption);
      if (own.length === 0) return [];
      return [
        {
          purchaseOption,
          seconds: sum(own.map(({ seconds }) => seconds)),
          usd: sum(own.map((each) => each.usd)),
        },
      ];
    }),
    lost: lostTraining(attempts),
    onDemandUsd,
    expected: expectedOf({ run, attempts, progress, now }, { usd, onDemandUsd }),
    deadlineAt: deadlineAt(run)?.toISOString(),
    budgetUsd: run.declaration?.limits.budgetUsd,
  };
}

function spentOn(attempt: AttemptRecord, now: Date) {
  const { purchaseOption } = attempt.placement.pool;
  if (attempt.outcome !== undefined)
    return {
      purchaseOption,
      seconds: attempt.outcome.trainingSeconds,
      usd: attemptCost(attempt),
      onDemandUsd: 0,
    };
  const since = Date.parse(attempt.startedAt ?? attempt.createdAt);
  // An open attempt is paid for from the moment when its hosts were there.
  const seconds = isUp(attempt) ? Math.max(0, now.getTime() - since) / 1_000 : 0;
  const copied = attempt.placement.transfer?.usd ?? 0;
  const usd = (heldHourlyUsd(attempt.placement) * seconds) / 3_600 + copied;
  const onDemandUsd =
    purchaseOption === 'on-demand'
      ? usd
      : hoursCost(attempt, seconds) + fileSystemsUsd(attempt.placement, seconds);
  return { purchaseOption, seconds, usd, onDemandUsd };
}

function expectedOf(
  { run, attempts, progress, now }: MoneyQuestion,
  { usd, onDemandUsd }: { readonly usd: number; readonly onDemandUsd: number },
): ExpectedMoney | undefined {
  const last = attempts.at(-1);
  if (FINISHED.includes(run.status) || run.declaration === undefined || last === undefined) return undefined;
  const { maximumRunSeconds } = run.declaration.limits;
  const left = forecast({ attempts, progress, now, maximumRunSeconds });
  if (left === undefined) return undefined;
  const { seconds, billedSeconds, workSeconds, basis } = left;
  const hourly = heldHourlyUsd(last.placement);
  const total = (billed: number): number => usd + (hourly * billed) / 3_600;
  const isOnDemand = last.placement.pool.purchaseOption === 'on-demand';
  const restUsd = isOnDemand
    ? (hourly * billedSeconds.expected) / 3_600
    : hoursCost(last, workSeconds) + fileSystemsUsd(last.placement, workSeconds);
  const at = (ahead: number): string => new Date(now.getTime() + ahead * 1_000).toISOString();
  return {
    usd: mapped(billedSeconds, total),
    finishAt: mapped(seconds, at),
    onDemandUsd: onDemandUsd + restUsd,
    basis,
  };
}

const mapped = <T>({ low, expected, high }: ForecastInterval, change: (value: number) => T) => ({
  low: change(low),
  expected: change(expected),
  high: change(high),
});

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
