import { list } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { ok } from '../shared/answers.ts';
import { defineRunOperation, READS } from '../shared/operation.ts';
import { attempt, shownAttempt } from '../shared/shown.ts';

export const listAttempts = defineRunOperation(
  {
    ...READS,
    route: 'GET /runs/{runId}/attempts',
    id: 'listAttempts',
    summary: 'Shows all that is known of the attempts of a run.',
    answer: z.object({ attempts: list(attempt) }),
    refusals: [404],
  },
  async ({ attempts }, { run }) => ok({ attempts: (await attempts.list(run.runId)).map(shownAttempt) }),
);
