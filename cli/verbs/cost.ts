/** `tidewheel cost`: what the runs of a month cost. */
import * as z from 'zod';
import { durationText, savedText, usdText } from '../../client/amounts.ts';
import type { AnswerOf } from '../../client/operations.ts';
import { safe, tableText } from '../command/format.ts';
import { defineVerb, option } from '../command/verb.ts';

const BY = ['pipeline', 'owner', 'tag', 'day', 'pool'] as const;

export const verb = defineVerb({
  name: 'cost',
  summary: 'sum up what the runs of a month cost, and what On-Demand would have',
  options: {
    month: option(
      'YYYY-MM',
      'in UTC; default: this month',
      z
        .string()
        .regex(/^\d{4}-(0[1-9]|1[0-2])$/, 'write a month, such as 2026-11')
        .optional(),
    ),
    by: option(
      'WHAT',
      `${BY.join(', ')} (default pipeline)`,
      z.enum(BY, `write ${BY.join(', ')}`).default('pipeline'),
    ),
  },
  examples: [
    ['', 'this month by pipeline'],
    ['--month 2026-10 --by pool', 'where the money went'],
  ],
  web: ({ values: { month } }) => `/money${month === undefined ? '' : `?month=${month}`}`,
  run: async ({ values: { month, by } }, { json, answer, terminal, api }) => {
    const money = await (await api()).call('getMoney', { month });
    const code = answer(money, () => [tableText(rowsOf(money, by)), ...promiseLines(money)].join('\n'));
    if (!json && !money.isComplete)
      terminal.note('there are more runs than were read: the sums are of the newest');
    return code;
  },
});

function rowsOf({ month, total, ...money }: AnswerOf<'getMoney'>, by: (typeof BY)[number]): string[][] {
  switch (by) {
    case 'day':
      return [['DAY', 'USD'], ...money.byDay.map(({ day, costUsd }) => [day, usdText(costUsd)])];
    case 'pool':
      return [
        ['POOL', 'ATTEMPTS', 'USD', 'LOST WORK'],
        ...money.byPool.map(({ instanceType, zoneId, purchaseOption, attempts, costUsd, lostSeconds }) => [
          [instanceType, zoneId, purchaseOption].filter((word) => word !== undefined).join(' '),
          String(attempts),
          usdText(costUsd),
          durationText(lostSeconds),
        ]),
      ];
    case 'pipeline':
      return spentRows(month, [
        ...money.byPipeline.map(({ pipeline, ...spent }) => ({ name: pipeline, ...spent })),
        { name: 'all', ...total },
      ]);
    case 'owner':
      return spentRows(month, [
        ...money.byOwner.map(({ owner = 'no owner', ...spent }) => ({ name: owner, ...spent })),
        { name: 'all', ...total },
      ]);
    case 'tag':
      return spentRows(
        month,
        money.byTag.map(({ tag, value, ...spent }) => ({ name: `${tag}=${value}`, ...spent })),
      );
  }
}

/** How far the forecasts of the month can be believed. */
const promiseLines = ({ total: { promises } }: AnswerOf<'getMoney'>): readonly string[] =>
  promises.runs === 0
    ? []
    : [
        `of ${promises.runs} runs that succeeded, ${promises.end} ended and ${promises.cost} cost within their first forecast`,
      ];

type Spent = AnswerOf<'getMoney'>['total'] & { readonly name: string };

const spentRows = (month: string, all: readonly Spent[]): string[][] => [
  [month, 'RUNS', 'USD', 'ON-DEMAND', 'SAVED', 'LOST WORK', 'LOST USD'],
  ...all.map((each) => [
    safe(each.name),
    String(each.runs),
    usdText(each.costUsd, each.onDemandUsd),
    usdText(each.onDemandUsd, each.costUsd),
    savedText(each),
    durationText(each.lostSeconds),
    usdText(each.lostUsd),
  ]),
];
