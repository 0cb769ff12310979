import { list, time } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { readSeries, thinned } from '../../records/series.ts';
import { ok } from '../shared/answers.ts';
import { defineRunOperation, READS } from '../shared/operation.ts';
import { wholeNumber } from '../shared/query-text.ts';

const MOST_POINTS = 20_000;

const seriesPoint = z.object({
  position: z.number().describe('In the unit of its series.'),
  value: z.number().describe('null where the script gave infinity or no number.').nullable(),
  at: time,
  attempt: z.number().int(),
});

export const getSeries = defineRunOperation(
  {
    ...READS,
    route: 'GET /runs/{runId}/series',
    id: 'getSeries',
    summary: 'Shows what the script printed or logged, as one curve over all attempts.',
    query: z.strictObject({
      name: z.string().optional().describe('One series; absent: all of them.'),
      points: wholeNumber(2, MOST_POINTS, 500).describe('The most points of each series.'),
    }),
    answer: z.object({
      series: list(
        z.object({
          name: z.string(),
          source: z.string().describe('How the script gave it, such as log or tensorboard.'),
          unit: z.enum(['step', 'epoch']),
          pointCount: z.number().int().describe('Before they were thinned.'),
          points: list(seriesPoint),
          lost: list(seriesPoint).describe(
            'What an attempt did past its last checkpoint, before it was lost.',
          ),
        }),
      ),
    }),
    refusals: [404],
  },
  async ({ store }, { run, query }) => {
    const all = await readSeries(store, run.pipeline, run.runId);
    const named = query.name === undefined ? all : all.filter(({ name }) => name === query.name);
    // Lambda's answer holds 6 MB.
    const share = Math.max(2, Math.min(query.points, Math.floor(MOST_POINTS / Math.max(1, named.length))));
    const series = named.map(({ points, lost, ...each }) => ({
      ...each,
      pointCount: points.length,
      points: thinned(points, share),
      lost: thinned(lost, share),
    }));
    return ok({ series });
  },
);
