/** `tidewheel stop`: ends a run, after a save where it trains. */

import { UsageError } from '@tidewheel/kit/command-line.ts';
import { durationText, usdText } from '../../client/amounts.ts';
import type { AnswerOf } from '../../client/operations.ts';
import { runMeant } from '../command/run-list.ts';
import { defineVerb, flag } from '../command/verb.ts';

export const verb = defineVerb({
  name: 'stop',
  summary: 'stop a run: the script saves first',
  about: `
A training gets the warning of an interruption and two minutes to save. What a stop means in every other state is a
table in docs/steering.md. Its arrivals are not lost. "tidewheel retry" has it go on.`,
  positionals: ['RUN?'],
  options: {
    now: flag('without a save: hosts on EC2 end at once'),
    yes: flag('do not ask', 'y'),
  },
  examples: [
    ['digits-000042', 'after a save'],
    ['digits-000042 --now', 'at once; says what that loses'],
  ],
  run: async ({ values, positionals }, context) => {
    const runId = await runMeant(context, positionals[0]);
    // The newest run may not be the one that the person means.
    if (positionals[0] === undefined && !values.yes) {
      const reply = await context.terminal.ask(`stop ${runId}? [y/N] `);
      if (reply === undefined)
        throw new UsageError([`RUN is missing: name the run to stop; the newest is ${runId}`]);
      if (!/^y(es)?$/i.test(reply.trim())) return 0;
    }
    const api = await context.api();
    const mode = values.now ? 'now' : 'afterSave';
    const stopped = await api.call('stopRun', { runId, body: { mode } });
    return context.answer(stopped, () => stopText(stopped, values.now));
  },
});

function stopText({ runId, status, unsaved }: AnswerOf<'stopRun'>, now: boolean): string {
  if (unsaved === undefined)
    return status === 'stopped' ? `${runId} is stopped` : `${runId} is ${status}, and stops at its next step`;
  const since =
    unsaved.step === undefined ? 'since its start' : `since the checkpoint of step ${unsaved.step}`;
  const work = `${durationText(unsaved.seconds)} of training ${since} ($${usdText(unsaved.usd)})`;
  return now
    ? `${runId} stops now: ${work} is lost where its hosts are on EC2; SageMaker leaves two minutes for a save`
    : `${runId} stops: its script has two minutes to save. If it does not, ${work} is lost`;
}
