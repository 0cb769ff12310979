/** What the API says of how busy the hosts of a run were. */
import * as z from 'zod';
import { shownVerdictSchema } from '../../doctor/verdict.ts';
import { list, time } from '../../shared/fields.ts';
import { wholeNumber } from './operation.ts';

export const utilisationQuery = z.strictObject({
  points: wholeNumber(2, 2_000, 300).describe('The most points, and one more an attempt.'),
});

const share = z.number().describe('Share of 1, the mean over the hosts.');

const point = z.object({
  at: time.describe('The end of the time that it stands for.'),
  attempt: z.number().int(),
  hosts: z.number().int().describe('How many measured.'),
  cpuBusy: share,
  gpuBusy: share.optional().describe('Absent without an accelerator.'),
  waiting: share.describe('Of the wall time, how long the processes waited for their next batch.'),
});

export const utilisationAnswer = z.object({
  points: list(point).describe('In order of time. Empty where no host measured, or checkpoints are deleted.'),
  hostsLeftOut: z.number().int().describe('Hosts of all attempts that were too many to read.'),
  verdicts: list(
    z.object({
      attempt: z.number().int(),
      at: time,
      cause: shownVerdictSchema.shape.cause,
      remedy: z.string().optional().describe('What to change.'),
    }),
  ).describe("The doctor's, of every attempt."),
});
