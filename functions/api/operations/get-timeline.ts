import { list } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { timelineEntrySchema } from '../../records/run-records.ts';
import { ok } from '../shared/answers.ts';
import { defineRunOperation, READS } from '../shared/operation.ts';

export const getTimeline = defineRunOperation(
  {
    ...READS,
    route: 'GET /runs/{runId}/timeline',
    id: 'getTimeline',
    summary: 'Shows the whole timeline of a run.',
    answer: z.object({ timeline: list(timelineEntrySchema) }),
    refusals: [404],
  },
  async ({ timeline }, { run }) => ok({ timeline: await timeline.list(run.runId) }),
);
