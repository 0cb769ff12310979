/** What a run has cost so far, what it will cost, and what On-Demand would have cost, from its records. Pure. */
import { list, seconds, time, usd } from '@tidewheel/kit/fields.ts';
import {
  type DrawPool,
  forecastRun,
  type Interval,
  intervalSchema,
  type Standing,
  timesSchema,
} from '@tidewheel/placement/estimate.ts';
import { questionAt, questionOf, whyUnreadable } from '@tidewheel/placement/explain.ts';
import {
  attemptCost,
  fileSystemsUsd,
  hoursCost,
  type Progress,
  poolSchema,
  promiseSchema,
} from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import { type AttemptRecord, FINISHED, type RunRecord } from '../../records/run-records.ts';
import type { PlacementStore, StoredPlacement } from '../../records/stores.ts';
import { deadlineAt, endedOnDemandUsd, lostTraining } from './make-report.ts';
import { heldHourlyUsd } from './stop-rules.ts';
import { isUp } from './unsaved.ts';

export const moneySchema = z.object({
  asOf: time,
  usd: usd.describe('So far.'),
  usdPerSecond: z.number().describe('By how much it grows while hosts are held.'),
  byPurchaseOption: list(z.object({ purchaseOption: poolSchema.shape.purchaseOption, seconds, usd })),
  lost: z.object({ seconds, usd }).describe('Work that was not saved, or was done again.'),
  onDemandUsd: usd.describe('What ran so far, on On-Demand instances: without the work that Spot lost.'),
  expected: z
    .object({
      usd: intervalSchema.describe('Of the whole run; 90 % interval.'),
      finishAt: timesSchema,
      onDemandUsd: usd,
      basis: z.enum(['measured', 'declared']).describe('declared: from former runs.'),
      widths: promiseSchema.shape.widths,
      lateChance: z.number().optional().describe('Chance to miss the deadline, 0 to 1.'),
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
  /** As `decisionOf` finds it; without one nothing is expected. */
  readonly decided?: StoredPlacement | undefined;
  readonly now: Date;
  /** As `forecastRun` takes it. */
  readonly drawPool?: DrawPool;
}

export function moneyOf(question: MoneyQuestion): Money {
  const { run, attempts, now } = question;
  const spent = attempts.map((attempt) => spentOn(attempt, now));
  const open = attempts.at(-1);
  const holds = open !== undefined && isUp(open) && !FINISHED.includes(run.status);
  const usd = sum(spent.map((each) => each.usd));
  const onDemandUsd = endedOnDemandUsd(attempts) + sum(spent.map((each) => each.onDemandUsd));
  return {
    asOf: now.toISOString(),
    usd,
    usdPerSecond: holds ? heldHourlyUsd(open.placement) / 3_600 : 0,
    byPurchaseOption: poolSchema.shape.purchaseOption.options.flatMap((purchaseOption) => {
      const own = spent.filter((each) => each.purchaseOption === purchaseOption);
      const seconds = sum(own.map((each) => each.seconds));
      return own.length === 0 ? [] : [{ purchaseOption, seconds, usd: sum(own.map((each) => each.usd)) }];
    }),
    lost: lostTraining(attempts),
    onDemandUsd,
    expected: expectedOf(question, { usd, onDemandUsd }),
    deadlineAt: deadlineAt(run)?.toISOString(),
    budgetUsd: run.declaration?.limits.budgetUsd,
  };
}

function spentOn(attempt: AttemptRecord, now: Date) {
  const { outcome, placement } = attempt;
  const { purchaseOption } = placement.pool;
  if (outcome !== undefined)
    return { purchaseOption, seconds: outcome.trainingSeconds, usd: attemptCost(attempt), onDemandUsd: 0 };
  const since = Date.parse(attempt.startedAt ?? attempt.createdAt);
  // An open attempt is paid for from the moment when its hosts were there.
  const seconds = isUp(attempt) ? Math.max(0, now.getTime() - since) / 1_000 : 0;
  const usd = (heldHourlyUsd(placement) * seconds) / 3_600 + (placement.transfer?.usd ?? 0);
  const onDemandUsd =
    purchaseOption === 'on-demand' ? usd : hoursCost(attempt, seconds) + fileSystemsUsd(placement, seconds);
  return { purchaseOption, seconds, usd, onDemandUsd };
}

/** What the open attempt was decided by, or else the next one. */
export async function decisionOf(
  placements: Pick<PlacementStore, 'get'>,
  runId: string,
  attempts: readonly AttemptRecord[],
): Promise<StoredPlacement | undefined> {
  const last = attempts.at(-1);
  const next = (last?.attempt ?? 0) + 1;
  const after =
    last === undefined || last.outcome !== undefined ? await placements.get(runId, next) : undefined;
  return after ?? (last && (await placements.get(runId, last.attempt)));
}

function expectedOf(
  { run, attempts, progress, now, decided, drawPool }: MoneyQuestion,
  { usd, onDemandUsd }: { readonly usd: number; readonly onDemandUsd: number },
): ExpectedMoney | undefined {
  if (FINISHED.includes(run.status) || decided === undefined || !isReadable(decided)) return undefined;
  const open = attempts.find(({ outcome }) => outcome === undefined);
  const before = attempts.filter((each) => each !== open);
  const { decision, attempt } = decided;
  const asked = questionOf({ run, attempts, attempt, decision });
  if (asked === undefined) return undefined;
  const left = forecastRun({
    input: questionAt(asked, { now, attempts: before, progress }),
    standing:
      open === undefined ? standingBetween(decided, before, { asked: asked.now, now }) : standingIn(open),
    spentUsd: usd,
    seed: run.runId,
    drawPool,
  });
  if (left === undefined) return undefined;
  const at = (ahead: number): string => new Date(now.getTime() + ahead * 1_000).toISOString();
  return {
    usd: mapped(left.usd, (more) => usd + more),
    finishAt: mapped(left.seconds, at),
    onDemandUsd: onDemandUsd + left.onDemandUsd,
    basis: left.basis,
    widths: left.widths,
    lateChance: left.lateChance,
  };
}

/** A decision of another release says nothing; the next one will. */
const isReadable = ({ decision }: StoredPlacement): boolean => whyUnreadable(decision) === undefined;

function standingIn(open: AttemptRecord): Standing {
  const { hosts, download, image } = open.startUp ?? {};
  const script = hosts === undefined ? undefined : hosts + (download ?? 0) + (image ?? 0);
  return {
    kind: 'attempt',
    placed: open,
    heldSince: isUp(open) ? new Date(open.startedAt ?? open.createdAt) : undefined,
    scriptSince: script === undefined ? undefined : new Date(Date.parse(open.createdAt) + script * 1_000),
  };
}

/** Between two attempts: the next one has a pool, or waits, or is not placed yet. */
function standingBetween(
  { decision, attempt }: StoredPlacement,
  before: readonly AttemptRecord[],
  { asked, now }: { readonly asked: string; readonly now: Date },
): Standing {
  const isNext = before.every((each) => each.attempt !== attempt);
  if (isNext && decision.kind === 'launch') return { kind: 'chosen', placement: decision.placement };
  const until = Date.parse(asked) + (isNext && decision.kind === 'wait' ? decision.seconds : 0) * 1_000;
  return { kind: 'waits', seconds: Math.max(0, until - now.getTime()) / 1_000 };
}

const mapped = <T>({ low, expected, high }: Interval, change: (value: number) => T) => ({
  low: change(low),
  expected: change(expected),
  high: change(high),
});

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
