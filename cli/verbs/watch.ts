/** `tidewheel watch`: a run on one screen, until it ends. */
import { runMeant } from '../command/run-list.ts';
import { defineVerb, flag } from '../command/verb.ts';
import { runToWatch } from '../watch/begin.ts';
import { watchRun } from '../watch/watch-run.ts';

export const verb = defineVerb({
  name: 'watch',
  summary: 'show a run until it ends',
  about: `
Its life line over all attempts, progress, loss, cost so far, and when it will be done. Without a terminal it writes a
line for each event and each 5 % of the work. Ctrl-C leaves the run alone. The first run of a pipeline is waited for.`,
  positionals: ['RUN?'],
  options: {
    'exit-status': flag('exit code 2 if the run failed, 3 if it missed its deadline'),
  },
  examples: [
    ['', "the newest run of this folder's pipeline, or of all"],
    ['digits-000042 --exit-status', 'for a script that uses the model then'],
  ],
  web: async ({ positionals }, context) => `/runs/${await runMeant(context, positionals[0])}`,
  run: async ({ values, positionals }, context) =>
    watchRun(context, await runToWatch(context, positionals[0]), { exitStatus: values['exit-status'] }),
});
