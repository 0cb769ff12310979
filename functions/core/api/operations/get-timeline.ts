import * as z from 'zod';
import { timelineEntrySchema } from '../../runs/run-records.ts';
import { list } from '../../shared/fields.ts';
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
