import { shownVerdictSchema } from '@tidewheel/doctor/verdict.ts';
import { list, time } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { FINISHED, type RunRecord } from '../../records/run-records.ts';
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
      reason: z.string().optional().describe('Why there are no points.'),
    }),
    refusals: [404],
  },
  async (deps, { run, query }) => {
    const { runId, pipeline } = run;
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
    const reason = measured.points.length === 0 ? whyNoPoints(run, attempts.length) : undefined;
    return ok({ ...measured, verdicts, reason });
  },
);

function whyNoPoints({ runId, status, declaration, probe }: RunRecord, attempts: number): string {
  if (probe?.evaluates !== undefined) return 'an evaluation alone takes no steps, so nothing is measured';
  if (attempts === 0) return `${runId} is ${status}, and no attempt of it has begun`;
  if (declaration?.training.instrument === false)
    return 'tuning.training.instrument is false: without it no host measures';
  return FINISHED.includes(status)
    ? 'no host measured a minute of steps, or its figures went with the checkpoints'
    : 'the first figures come after a minute of steps';
}
