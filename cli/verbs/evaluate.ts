/** `tidewheel evaluate`: scores a model alone, and compares it with the one in use. */
import * as z from 'zod';
import { safe } from '../command/format.ts';
import { defineVerb, option } from '../command/verb.ts';
import { judgedLines, modelsMeant } from '../model/states.ts';
import { watchRun } from '../watch/watch-run.ts';

export const verb = defineVerb({
  name: 'evaluate',
  summary: 'score a model by the declared script, and compare it with the one in use',
  about: `
The script of "evaluation" scores the model of RUN, or the one in use, on the dataset as it is now. It decides on a
candidate that has no comparison yet (docs/models.md). No model is scored twice on the same samples.`,
  positionals: ['RUN or PIPELINE?'],
  options: {
    on: option(
      'NAME',
      'on this split or channel instead, which decides nothing; may come again',
      z.array(z.string().min(1, 'name a split or a channel')).optional(),
    ),
  },
  examples: [
    ['digits-000043', 'the model of a run whose host was lost before it was scored'],
    ['digits --on test', 'the model in use, on another split'],
  ],
  run: async ({ values: { on }, positionals: [given] }, context) => {
    const api = await context.api();
    const { name, runId } = await modelsMeant(context, given);
    const started = await api.call('evaluateModel', { name, body: { runId, on } });
    context.terminal.note(`${started.runId} scores the model of ${started.model}`);
    const code = await watchRun(context, started.runId, { exitStatus: true });
    const { judged } = (await api.call('getRun', { runId: started.runId })).run;
    if (judged === undefined || context.json) return code;
    const { judgement } = await api.call('getModel', { runId: started.runId });
    const why = judged.verdict === 'rejected' ? (judgement?.reasons ?? []) : [];
    context.terminal.print([...judgedLines(judged), ...why.map(safe)].join('\n'));
    return code;
  },
});
