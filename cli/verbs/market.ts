/** `tidewheel market`: scores and prices of the pools that pipelines may use, and what attempts met there. */
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { usdText } from '../../client/amounts.ts';
import type { AnswerOf } from '../../client/operations.ts';
import { tableText } from '../command/format.ts';
import { defineVerb, option } from '../command/verb.ts';

export const verb = defineVerb({
  name: 'market',
  summary: 'show scores and prices of Spot pools, and how attempts fared there',
  options: {
    types: option(
      'A,B',
      'only these instance types',
      z
        .string()
        .transform((text) => text.split(','))
        .optional(),
    ),
    days: option('N', 'how far back (default 7)', wholeNumber(1, 90).default(7)),
  },
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
