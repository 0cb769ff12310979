import { list } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { readSeries, seriesSchema, thinned } from '../../records/series.ts';
import { ok } from '../shared/answers.ts';
import { defineRunOperation, READS } from '../shared/operation.ts';
import { wholeNumber } from '../shared/query-text.ts';

const MOST_POINTS = 20_000;

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
    answer: z.object({ series: list(seriesSchema) }),
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
