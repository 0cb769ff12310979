/** What lists and sums of money take of a run's report. Its record has it, so that they need not read the report. */
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { list, seconds, time, usd } from '@tidewheel/kit/fields.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { kindOf, type StoredKind, storedOrThrow } from '@tidewheel/kit/stored.ts';
import { poolSchema, promiseSchema } from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import { type RunRecord, type RunSpent, readsSchema } from './run-records.ts';

const attemptSchema = z.object({
  pool: poolSchema,
  trainingSeconds: seconds,
  lostSeconds: seconds,
  costUsd: usd,
});

/** Format of a report. */
export const REPORT_VERSION = 1;

/** Part of a report (functions/run/attempts/make-report.ts). */
const endedSchema = z.object({
  version: z.literal(REPORT_VERSION),
  status: z.enum(['succeeded', 'failed', 'stopped', 'empty', 'notNeeded']),
  failure: z.string().optional(),
  modelUri: z.string().optional(),
  generations: list(z.string()),
  reads: readsSchema.optional(),
  metrics: z.record(z.string(), z.number().nullable()).readonly(),
  attempts: list(attemptSchema),
  interruptions: z.number().int(),
  lostSeconds: seconds,
  costUsd: usd,
  onDemandUsd: usd,
  deadline: z.object({ met: z.boolean().nullable() }),
  promises: list(promiseSchema).optional(),
  startedAt: time,
  finishedAt: time,
});
export type EndedReport = Readonly<z.output<typeof endedSchema>>;

type RunReference = Pick<RunRecord, 'pipeline' | 'runId'>;

/**
 * @returns undefined where there is none, or a person has damaged it
 * @throws UnreadableRecordError
 */
export async function readReportAs<Schema extends z.ZodType>(
  store: Pick<ObjectStore, 'readText'>,
  { pipeline, runId }: RunReference,
  kind: StoredKind<Schema>,
): Promise<z.output<Schema> | undefined> {
  const stored = await store.readText(bucketKeys.report(pipeline, runId));
  const content = parseJson(stored?.text ?? '');
  return typeof content === 'object' ? storedOrThrow(`the report of ${runId}`, kind, content) : undefined;
}

/** As `readReportAs`. */
export const readEnded = (store: Pick<ObjectStore, 'readText'>, run: RunReference) =>
  readReportAs(store, run, kindOf(endedSchema));

/** A list of runs holds them for each one. */
const MOST_LISTED = 20;

export const runResultOf = (report: EndedReport): NonNullable<RunRecord['result']> => ({
  finishedAt: report.finishedAt,
  attempts: report.attempts.length,
  interruptions: report.interruptions,
  lostSeconds: report.lostSeconds,
  costUsd: report.costUsd,
  onDemandUsd: report.onDemandUsd,
  spent: spentOf(report),
  metrics: Object.fromEntries(Object.entries(report.metrics).slice(0, MOST_LISTED)),
  isDeadlineMet: report.deadline.met,
});

export function spentOf(report: EndedReport): RunSpent {
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

/** Spot bills fewer seconds than it trains: the price is of a second of training. */
const lostUsd = ({ costUsd, lostSeconds, trainingSeconds }: EndedReport['attempts'][number]): number =>
  trainingSeconds > 0 ? costUsd * Math.min(1, lostSeconds / trainingSeconds) : 0;

/** Whether it ended and cost within its first forecast. */
function keptOf({ status, promises, finishedAt, costUsd }: EndedReport): RunSpent['kept'] {
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
