import { list, seconds, time, usd } from '@tidewheel/kit/fields.ts';
import { mapLimited } from '@tidewheel/kit/limited.ts';
import { savedOf } from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import { FINISHED, type ListedRun } from '../../records/run-records.ts';
import { type BegunPage, begunAtOf, type Stores, type Tell } from '../../records/stores.ts';
import { type AttemptReport, type RunReport, readReport } from '../../run/attempts/make-report.ts';
import { ok } from '../shared/answers.ts';
import { defineOperation, READS } from '../shared/operation.ts';
import { leftOut, steppedOver, unreadable } from '../shared/paging.ts';

const spent = {
  runs: z.number().int(),
  costUsd: usd,
  onDemandUsd: usd.describe('What ran, on On-Demand instances: without the work that Spot lost.'),
  savedUsd: usd.describe('Against On-Demand; below 0 where Spot cost more.'),
  savedPercent: z.number(),
  lostSeconds: seconds.describe('Training that no checkpoint covered.'),
  lostUsd: usd.describe('The share of the cost that lost work has.'),
  promises: z
    .object({ runs: z.number().int(), end: z.number().int(), cost: z.number().int() })
    .describe('Succeeded runs with a forecast, and how many ended and cost within their first one.'),
};

const money = z.object({
  month: z.string(),
  from: time,
  to: time,
  total: z.object(spent),
  byPipeline: list(z.object({ pipeline: z.string(), ...spent })),
  byOwner: list(
    z.object({ owner: z.string().optional().describe('Absent: of no declared owner.'), ...spent }),
  ),
  byTag: list(z.object({ tag: z.string(), value: z.string(), ...spent })).describe(
    'Of declared tags. A run counts once with each of its own.',
  ),
  byDay: list(z.object({ day: z.string(), costUsd: usd })),
  byPool: list(
    z.object({
      instanceType: z.string(),
      zoneId: z.string().optional(),
      purchaseOption: z.enum(['spot', 'on-demand']),
      attempts: z.number().int(),
      costUsd: usd,
      lostSeconds: seconds,
    }),
  ),
  isComplete: z.boolean().describe('false: there are more runs than were read; the sums are of the newest.'),
  unreadable,
});

type Money = z.input<typeof money>;
type Spent = Money['total'];

/** One read each; the call has 29 seconds. */
const MOST_REPORTS = 1_000;
const RUNS_A_PAGE = 200;
const AT_ONCE = 32;
/** A run may end long after it began. */
const LONGEST_RUN_MILLISECONDS = 35 * 86_400_000;

/** Over all runs of a month, from their reports: a run counts in the month of its end. */
export const getMoney = defineOperation(
  {
    ...READS,
    route: 'GET /money',
    id: 'getMoney',
    summary: 'Sums up what the runs of a month cost, by pipeline, day and pool.',
    query: z.strictObject({
      month: z
        .string()
        .regex(/^\d{4}-(0[1-9]|1[0-2])$/, 'write a month as 2026-11')
        .optional()
        .describe('Such as 2026-11, in UTC; absent: the current one.'),
    }),
    answer: money,
  },
  async (deps, { query }) => {
    const month = monthOf(query.month ?? deps.clock.now().toISOString().slice(0, 7));
    const { tell, said } = steppedOver();
    const runs = await endedIn(deps, month, tell);
    const newest = runs.toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1)).slice(0, MOST_REPORTS);
    const found = await mapLimited(newest, AT_ONCE, (run) =>
      readReport(deps.store, run).catch(leftOut(run.runId, tell)),
    );
    const reports = found.filter((report) => report !== undefined);
    return ok({ ...month, ...sumsOf(reports), isComplete: newest.length === runs.length, ...said() });
  },
);

interface Month {
  readonly month: string;
  readonly from: string;
  readonly to: string;
}

function monthOf(month: string): Month {
  const [year = 0, number = 1] = month.split('-').map(Number);
  const at = (place: number): string => new Date(Date.UTC(year, place, 1)).toISOString();
  return { month, from: at(number - 1), to: at(number) };
}

/** Probes too. */
async function endedIn(
  { runs }: Pick<Stores, 'runs'>,
  { from, to }: Month,
  tell: Tell,
): Promise<ListedRun[]> {
  const since = new Date(Date.parse(from) - LONGEST_RUN_MILLISECONDS).toISOString();
  const found: ListedRun[] = [];
  let before: string | undefined = to;
  do {
    const page: BegunPage = await runs.listBegun({ limit: RUNS_A_PAGE, before, since, probes: true, tell });
    found.push(
      ...page.runs.filter(
        ({ status, updatedAt }) => FINISHED.includes(status) && updatedAt >= from && updatedAt < to,
      ),
    );
    const last = page.runs.length < RUNS_A_PAGE ? undefined : page.runs.at(-1);
    before = page.searchedTo ?? (last && begunAtOf(last));
  } while (before !== undefined && found.length <= MOST_REPORTS);
  return found;
}

function sumsOf(reports: readonly RunReport[]): Omit<Money, keyof Month | 'isComplete' | 'unreadable'> {
  const byPipeline = Map.groupBy(reports, ({ pipeline }) => pipeline);
  const byOwner = Map.groupBy(reports, ({ owner }) => owner);
  const tagged = reports.flatMap((report) =>
    Object.entries(report.tags ?? {}).map(([tag, value]) => ({ tag, value, report })),
  );
  const byTag = Map.groupBy(tagged, ({ tag, value }) => JSON.stringify([tag, value]));
  const byDay = Map.groupBy(reports, ({ finishedAt }) => finishedAt.slice(0, 10));
  const byPool = Map.groupBy(
    reports.flatMap(({ attempts }) => attempts),
    ({ pool: { instanceType, zoneId, purchaseOption } }) =>
      JSON.stringify([instanceType, zoneId, purchaseOption]),
  );
  return {
    total: spentOf(reports),
    byPipeline: [...byPipeline]
      .map(([pipeline, own]) => ({ pipeline, ...spentOf(own) }))
      .toSorted((a, b) => b.costUsd - a.costUsd),
    byOwner: [...byOwner]
      .map(([owner, own]) => ({ owner, ...spentOf(own) }))
      .toSorted((a, b) => b.costUsd - a.costUsd),
    byTag: [...byTag.values()]
      .flatMap(([first, ...others]) =>
        first === undefined
          ? []
          : [
              {
                tag: first.tag,
                value: first.value,
                ...spentOf([first, ...others].map(({ report }) => report)),
              },
            ],
      )
      .toSorted((a, b) => (a.tag === b.tag ? b.costUsd - a.costUsd : a.tag < b.tag ? -1 : 1)),
    byDay: [...byDay]
      .map(([day, own]) => ({ day, costUsd: sum(own, ({ costUsd }) => costUsd) }))
      .toSorted((a, b) => (a.day < b.day ? -1 : 1)),
    byPool: [...byPool.values()].flatMap(poolSpent).toSorted((a, b) => b.costUsd - a.costUsd),
  };
}

function spentOf(reports: readonly RunReport[]): Spent {
  const costUsd = sum(reports, (report) => report.costUsd);
  const onDemandUsd = sum(reports, (report) => report.onDemandUsd);
  return {
    runs: reports.length,
    costUsd,
    onDemandUsd,
    ...savedOf({ costUsd, onDemandUsd }),
    lostSeconds: sum(reports, ({ lostSeconds }) => lostSeconds),
    lostUsd: sum(
      reports.flatMap(({ attempts }) => attempts),
      lostUsd,
    ),
    promises: promisesOf(reports),
  };
}

function promisesOf(reports: readonly RunReport[]): Spent['promises'] {
  const ended = reports.flatMap((report) => {
    const first = report.status === 'succeeded' ? report.promises?.[0] : undefined;
    return first === undefined ? [] : [{ ...first, report }];
  });
  const within = ({ low, high }: { low: number; high: number }, happened: number): boolean =>
    happened >= low && happened <= high;
  return {
    runs: ended.length,
    end: ended.filter(({ finishAt: { low, high }, report }) =>
      within({ low: Date.parse(low), high: Date.parse(high) }, Date.parse(report.finishedAt)),
    ).length,
    cost: ended.filter(({ usd, report }) => within(usd, report.costUsd)).length,
  };
}

const lostUsd = ({ costUsd, lostSeconds, billableSeconds }: AttemptReport): number =>
  billableSeconds > 0 ? costUsd * Math.min(1, lostSeconds / billableSeconds) : 0;

function poolSpent(attempts: readonly AttemptReport[]): Money['byPool'] {
  const pool = attempts[0]?.pool;
  if (pool === undefined) return [];
  const { instanceType, zoneId, purchaseOption } = pool;
  return [
    {
      instanceType,
      zoneId,
      purchaseOption,
      attempts: attempts.length,
      costUsd: sum(attempts, ({ costUsd }) => costUsd),
      lostSeconds: sum(attempts, ({ lostSeconds }) => lostSeconds),
    },
  ];
}

const sum = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0);
