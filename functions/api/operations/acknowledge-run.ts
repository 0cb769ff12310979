import { time } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { ok, problem } from '../shared/answers.ts';
import { CHANGES, defineRunOperation } from '../shared/operation.ts';

/** Idempotent: the first person who knows is named. */
export const acknowledgeRun = defineRunOperation(
  {
    ...CHANGES,
    route: 'PUT /runs/{runId}/acknowledgement',
    id: 'acknowledgeRun',
    summary: 'Notes that a person knows of the failure of a run, which then needs no person.',
    answer: z.object({ runId: z.string(), at: time, requestedBy: z.string().describe('Who knows.') }),
  },
  async ({ runs, clock }, { run, caller }) => {
    const { runId, status } = run;
    if (status !== 'failed')
      return problem(409, `${runId} is ${status}: only the failure of a run can be acknowledged`);
    const known = run.acknowledgement ?? { at: clock.now().toISOString(), requestedBy: caller };
    if (run.acknowledgement === undefined) await runs.annotate(run, { acknowledgement: known });
    return ok({ runId, ...known });
  },
);
