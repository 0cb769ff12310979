import { shownVerdictSchema } from '@tidewheel/doctor/verdict.ts';
import { list, time } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { readUtilisation } from '../../records/utilisation.ts';
import { ok } from '../shared/answers.ts';
import { defineRunOperation, READS } from '../shared/operation.ts';
import { wholeNumber } from '../shared/query-text.ts';

const share = z.number().describe('Share of 1, the mean over the hosts.');

const point = z.object({
  at: time.describe('The end of the time that it stands for.'),
  attempt: z.number().int(),
  hosts: z.number().int().describe('How many measured.'),
  cpuBusy: share,
  gpuBusy: share.optional().describe('Absent without an accelerator.'),
  waiting: share.describe('Of the wall time, how long the processes waited for their next batch.'),
});

export const getUtilisation = defineRunOperation(
  {
    ...READS,
    route: 'GET /runs/{runId}/utilisation',
    id: 'getUtilisation',
    summary: "Shows how busy the hosts of all attempts were, and the doctor's verdicts.",
    query: z.strictObject({
      points: wholeNumber(2, 2_000, 300).describe('The most points, and one more an attempt.'),
    }),
    answer: z.object({
      points: list(point).describe(
        'In order of time. Empty where no host measured, or checkpoints are deleted.',
      ),
      hostsLeftOut: z.number().int().describe('Hosts of all attempts that were too many to read.'),
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
