import { list, seconds, time, usd } from '@tidewheel/kit/fields.ts';
import { mapLimited } from '@tidewheel/kit/limited.ts';
import * as z from 'zod';
import { spentOf } from '../../records/ended.ts';
import { runsChangedIn } from '../../records/recent-runs.ts';
import { FINISHED, type ListedRun, type RunSpent, spentOnPoolSchema } from '../../records/run-records.ts';
import { type RunReport, readReport, savedOf } from '../../run/attempts/make-report.ts';
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
  byPool: list(spentOnPoolSchema),
  isComplete: z.boolean().describe('false: there are more runs than were read; the sums are of the newest.'),
  unreadable,
});

type Money = z.input<typeof money>;
type Spent = Money['total'];

/** Of runs of earlier releases, one read each; the call has 29 seconds. */
const MOST_REPORTS = 1_000;
const AT_ONCE = 32;

/** Over all runs of a month, from the list of runs: a run counts in the month of its end. */
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
    const runs = (await runsChangedIn(deps, { ...month, tell })).filter(({ status }) =>
      FINISHED.includes(status),
    );
    const unsummed = runs.filter(({ result }) => result?.spent === undefined);
    const newest = unsummed.toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1)).slice(0, MOST_REPORTS);
    const found = await mapLimited(newest, AT_ONCE, (run) =>
      readReport(deps.store, run).catch(leftOut(run.runId, tell)),
    );
    const reported = found.filter((report) => report !== undefined);
    const ended = [
      ...runs.flatMap(endedOf),
      ...reported.map((report) => ({ ...report, ...spentOf(report) })),
    ];
    return ok({ ...month, ...sumsOf(ended), isComplete: newest.length === unsummed.length, ...said() });
  },
);

type Ended = Pick<
  RunReport,
  'pipeline' | 'owner' | 'tags' | 'finishedAt' | 'costUsd' | 'onDemandUsd' | 'lostSeconds'
> &
  RunSpent;

const endedOf = ({ pipeline, listed, result }: ListedRun): Ended[] =>
  result?.spent === undefined
    ? []
    : [{ ...result, ...result.spent, pipeline, owner: listed?.owner, tags: listed?.tags }];

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

function sumsOf(reports: readonly Ended[]): Omit<Money, keyof Month | 'isComplete' | 'unreadable'> {
  const byPipeline = Map.groupBy(reports, ({ pipeline }) => pipeline);
  const byOwner = Map.groupBy(reports, ({ owner }) => owner);
  const tagged = reports.flatMap((report) =>
    Object.entries(report.tags ?? {}).map(([tag, value]) => ({ tag, value, report })),
  );
  const byTag = Map.groupBy(tagged, ({ tag, value }) => JSON.stringify([tag, value]));
  const byDay = Map.groupBy(reports, ({ finishedAt }) => finishedAt.slice(0, 10));
  const byPool = Map.groupBy(
    reports.flatMap(({ pools }) => pools),
    ({ instanceType, zoneId, purchaseOption }) => JSON.stringify([instanceType, zoneId, purchaseOption]),
  );
  return {
    total: spentBy(reports),
    byPipeline: [...byPipeline]
      .map(([pipeline, own]) => ({ pipeline, ...spentBy(own) }))
      .toSorted((a, b) => b.costUsd - a.costUsd),
    byOwner: [...byOwner]
      .map(([owner, own]) => ({ owner, ...spentBy(own) }))
      .toSorted((a, b) => b.costUsd - a.costUsd),
    byTag: [...byTag.values()]
      .flatMap(([first, ...others]) =>
        first === undefined
          ? []
          : [
              {
                tag: first.tag,
                value: first.value,
                ...spentBy([first, ...others].map(({ report }) => report)),
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

function spentBy(reports: readonly Ended[]): Spent {
  const costUsd = sum(reports, (report) => report.costUsd);
  const onDemandUsd = sum(reports, (report) => report.onDemandUsd);
  return {
    runs: reports.length,
    costUsd,
    onDemandUsd,
    ...savedOf({ costUsd, onDemandUsd }),
    lostSeconds: sum(reports, ({ lostSeconds }) => lostSeconds),
    lostUsd: sum(
      reports.flatMap(({ pools }) => pools),
      ({ lostUsd }) => lostUsd,
    ),
    promises: {
      runs: reports.filter(({ kept }) => kept !== undefined).length,
      end: reports.filter(({ kept }) => kept?.end).length,
      cost: reports.filter(({ kept }) => kept?.cost).length,
    },
  };
}

function poolSpent(pools: RunSpent['pools']): Money['byPool'] {
  const pool = pools[0];
  if (pool === undefined) return [];
  const { instanceType, zoneId, purchaseOption } = pool;
  return [
    {
      instanceType,
      zoneId,
      purchaseOption,
      attempts: sum(pools, ({ attempts }) => attempts),
      costUsd: sum(pools, ({ costUsd }) => costUsd),
      lostSeconds: sum(pools, ({ lostSeconds }) => lostSeconds),
    },
  ];
}

const sum = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0);
