/** What the API says of the series of a run. */
import * as z from 'zod';
import { list, time } from '../../shared/fields.ts';
import { wholeNumber } from './operation.ts';

const MOST_POINTS = 20_000;

export const seriesQuery = z.strictObject({
  name: z.string().optional().describe('One series; absent: all of them.'),
  points: wholeNumber(2, MOST_POINTS, 500).describe('The most points of each series.'),
});

const seriesPoint = z.object({
  position: z.number().describe('In the unit of its series.'),
  value: z.number().describe('null where the script gave infinity or no number.').nullable(),
  at: time,
  attempt: z.number().int(),
});

export const seriesAnswer = z.object({
  series: list(
    z.object({
      name: z.string(),
      source: z.string().describe('How the script gave it, such as log or tensorboard.'),
      unit: z.enum(['step', 'epoch']),
      pointCount: z.number().int().describe('Before they were thinned.'),
      points: list(seriesPoint),
      lost: list(seriesPoint).describe('What an attempt did past its last checkpoint, before it was lost.'),
    }),
  ),
});

export { MOST_POINTS };
