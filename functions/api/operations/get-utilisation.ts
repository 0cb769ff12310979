import { shownVerdictSchema } from '@tidewheel/doctor/verdict.ts';
import { list, time } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { readUtilisation, utilisationSchema } from '../../records/utilisation.ts';
import { ok } from '../shared/answers.ts';
import { defineRunOperation, READS } from '../shared/operation.ts';
import { wholeNumber } from '../shared/query-text.ts';

export const getUtilisation = defineRunOperation(
  {
    ...READS,
    route: 'GET /runs/{runId}/utilisation',
    id: 'getUtilisation',
    summary: "Shows how busy the hosts of all attempts were, and the doctor's verdicts.",
    query: z.strictObject({
      points: wholeNumber(2, 2_000, 300).describe('The most points, and one more an attempt.'),
    }),
    answer: utilisationSchema.extend({
      verdicts: list(
        z.object({
          attempt: z.number().int(),
          at: time,
          cause: shownVerdictSchema.shape.cause,
          remedy: z.string().optional().describe('What to change.'),
        }),
      ).describe("The doctor's, of every attempt."),
    }),
    refusals: [404],
  },
  async (deps, { run: { runId, pipeline }, query }) => {
    const [attempts, measured] = await Promise.all([
      deps.attempts.list(runId),
      readUtilisation(deps.store, { pipeline, runId, most: query.points }),
    ]);
    const verdicts = attempts.flatMap(({ attempt, diagnosis }) =>
      (diagnosis?.verdicts ?? []).map(({ cause, remedy }) => ({
        attempt,
        at: diagnosis?.at ?? '',
        cause,
        remedy: remedy?.text,
      })),
    );
    return ok({ ...measured, verdicts });
  },
);
