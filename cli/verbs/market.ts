/** `tidewheel market`: scores and prices of the pools that pipelines may use, and what attempts met there. */
import * as z from 'zod';
import { usdText } from '../../client/amounts.ts';
import type { AnswerOf } from '../../client/operations.ts';
import { tableText } from '../command/format.ts';
import { defineVerb } from '../command/verb.ts';

const DAYS = 'write a whole number of days from 1 to 90';

export const verb = defineVerb({
  name: 'market',
  summary: 'show scores and prices of Spot pools, and how attempts fared there',
  options: {
    types: { type: 'string', value: 'A,B', about: 'only these instance types' },
    days: { type: 'string', value: 'N', about: 'how far back (default 7)' },
  },
  schema: z.object({
    types: z
      .string()
      .transform((text) => text.split(','))
      .optional(),
    days: z.coerce.number(DAYS).int(DAYS).min(1, DAYS).max(90, DAYS).default(7),
  }),
  examples: [
    ['', 'all pools that pipelines may use'],
    ['--types g5.xlarge,g6.xlarge --days 90', 'two types over a quarter'],
  ],
  web: ({ values: { days } }) => `/market?days=${days}`,
  run: async ({ values: { types, days } }, { json, answer, terminal, api }) => {
    const market = await (await api()).call('getMarket', { days });
    const pools = market.pools.filter(({ instanceType }) => types?.includes(instanceType) ?? true);
    const code = answer({ ...market, pools }, () => tableText(rowsOf({ ...market, pools })));
    if (!json && pools.length === 0)
      terminal.note('no pool was read yet: a declared pipeline makes the service ask');
    return code;
  },
});

const rowsOf = ({ pools, running }: Pick<AnswerOf<'getMarket'>, 'pools' | 'running'>): string[][] => [
  ['POOL', 'SCORE', 'SPOT $/H', 'ON-DEMAND $/H', 'KEPT', 'LOST', 'REFUSED', 'NOW'],
  ...pools.map(({ instanceType, zoneId, score, spotUsd, onDemandUsd, luck }) => [
    `${instanceType} ${zoneId}`,
    score === undefined ? '-' : String(score),
    spotUsd === undefined ? '-' : usdText(spotUsd),
    onDemandUsd === undefined ? '-' : usdText(onDemandUsd),
    String(luck.kept),
    String(luck.lost),
    String(luck.refused),
    running
      .filter((each) => each.instanceType === instanceType && each.zoneId === zoneId)
      .map(({ runId }) => runId)
      .join(', '),
  ]),
];
