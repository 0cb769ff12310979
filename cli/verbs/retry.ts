/** `tidewheel retry`: has a failed or stopped run go on from its newest checkpoint. */
import type { BodyOf } from '../../client/operations.ts';
import { overridesOf, SET_ABOUT, setOption, unseenText } from '../command/overrides.ts';
import { runMeant } from '../command/run-list.ts';
import { defineVerb, flag } from '../command/verb.ts';
import { watchRun } from '../watch/watch-run.ts';

export const verb = defineVerb({
  name: 'retry',
  summary: 'have a failed or stopped run go on from its newest checkpoint',
  about: `
The source is read again, so a corrected script trains.
${SET_ABOUT}`,
  positionals: ['RUN?'],
  options: {
    set: setOption,
    'pinned-source': flag('train with the source of the attempts before'),
    watch: flag('show it until it ends; its result is the exit code', 'w'),
  },
  examples: [
    ['digits-000042', 'after correcting the script (tidewheel apply)'],
    ['digits-000042 --set lr=1e-4 --set deadline=12', 'with other settings'],
  ],
  run: async ({ values, positionals }, context) => {
    const runId = await runMeant(context, positionals[0]);
    const api = await context.api();
    const source: BodyOf<'retryRun'>['source'] = values['pinned-source'] ? 'pinned' : 'current';
    const change: BodyOf<'retryRun'> = { ...overridesOf(values.set), source };
    const retried = await api.call('retryRun', { runId, body: change });
    const { run } = values.set.length === 0 ? {} : await api.call('getRun', { runId });
    const remark = run?.declaration && unseenText(run.declaration.training, values.set);
    if (remark !== undefined) context.terminal.note(remark);
    if (values.watch) return watchRun(context, runId, { exitStatus: true });
    return context.answer(
      retried,
      () =>
        `${runId} goes on ${retried.checkpoint === undefined ? 'from the start: there is no checkpoint' : `from step ${retried.checkpoint.step}`}: tidewheel watch ${runId}`,
    );
  },
});
