/** `tidewheel delete-checkpoints`: has the checkpoints of an ended run deleted before their time. */
import { runMeant } from '../command/run-list.ts';
import { defineVerb } from '../command/verb.ts';

export const verb = defineVerb({
  name: 'delete-checkpoints',
  summary: 'delete the checkpoints of an ended run before their time',
  about: `
They are deleted within a day; until then "tidewheel retry" keeps them. Model, report and data stay.`,
  positionals: ['RUN'],
  options: {},
  examples: [['digits-000042', 'a retry would train from the start then']],
  run: async ({ positionals: [given = ''] }, context) => {
    const runId = await runMeant(context, given);
    const api = await context.api();
    const answer = await api.call('deleteCheckpoints', { runId });
    const { isDeleted, deletion } = answer;
    return context.answer(answer, () =>
      isDeleted
        ? `${runId} has no checkpoints any more`
        : `the checkpoints of ${runId} are deleted within a day, as ${deletion?.requestedBy ?? 'a caller'} asked`,
    );
  },
});
