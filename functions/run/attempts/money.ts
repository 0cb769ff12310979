/** What a run has cost so far, what it will cost, and what On-Demand would have cost, from its records. Pure. */
import {
  attemptCost,
  fileSystemsUsd,
  hoursCost,
  type Pool,
  type Progress,
} from '@tidewheel/placement/records.ts';
import { type AttemptRecord, FINISHED, type RunRecord } from '../../records/run-records.ts';
import { type Forecast, type ForecastInterval, forecast } from './forecast.ts';
import { deadlineAt, lostTraining, usefulOnDemandUsd } from './report.ts';
import { heldHourlyUsd } from './stop-rules.ts';
import { isUp } from './unsaved.ts';

export interface Money {
  readonly asOf: string;
  readonly usd: number;
  /** By how much `usd` grows while hosts are held; 0 while none are. */
  readonly usdPerSecond: number;
  readonly byPurchaseOption: readonly {
    readonly purchaseOption: Pool['purchaseOption'];
    /** In which hosts were held. */
    readonly seconds: number;
    readonly usd: number;
  }[];
  /** Of the ended attempts. */
  readonly lost: { readonly seconds: number; readonly usd: number };
  /** What the useful work so far would have cost on On-Demand instances of the same types. */
  readonly onDemandUsd: number;
  /** Absent for an ended run, and while nothing says how much is left. */
  readonly expected?: ExpectedMoney | undefined;
  readonly deadlineAt?: string | undefined;
  readonly budgetUsd?: number | undefined;
}

interface ExpectedMoney {
  /** Of the whole run. 90 % intervals. */
  readonly usd: ForecastInterval;
  readonly finishAt: { readonly low: string; readonly expected: string; readonly high: string };
  readonly onDemandUsd: number;
  readonly basis: Forecast['basis'];
}

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
  const onDemandUsd = usefulOnDemandUsd(attempts) + sum(spent.map((each) => each.onDemandUsd));
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
  return {
    purchaseOption,
    seconds,
    usd: (heldHourlyUsd(attempt.placement) * seconds) / 3_600 + copied,
    onDemandUsd: hoursCost(attempt, seconds) + fileSystemsUsd(attempt.placement, seconds),
  };
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
  const at = (ahead: number): string => new Date(now.getTime() + ahead * 1_000).toISOString();
  return {
    usd: mapped(billedSeconds, total),
    finishAt: mapped(seconds, at),
    onDemandUsd: onDemandUsd + hoursCost(last, workSeconds) + fileSystemsUsd(last.placement, workSeconds),
    basis,
  };
}

const mapped = <T>({ low, expected, high }: ForecastInterval, change: (value: number) => T) => ({
  low: change(low),
  expected: change(expected),
  high: change(high),
});

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
