/** `tidewheel run`: starts the run of the open batch. */
import * as z from 'zod';
import { ApiError } from '../command/api.ts';
import { noPipeline, pipelineMeant } from '../command/runs.ts';
import { defineVerb } from '../command/verb.ts';
import { watchRun } from '../watch/watch-run.ts';

export const verb = defineVerb({
  name: 'run',
  summary: 'start a run now: on the data that waits, or on what is there',
  about:
    'The run trains even if nothing new arrived. If the open batch has a run already, that one is named.',
  positionals: ['PIPELINE?'],
  options: {
    watch: { type: 'boolean', short: 'w', about: 'show it until it ends; its result is the exit code' },
  },
  schema: z.object({ watch: z.boolean().default(false) }),
  examples: [
    ['', 'of the pipeline that tidewheel.yaml in this folder declares'],
    ['digits --watch', 'and show it until it ends'],
  ],
  run: async ({ values, positionals }, context) => {
    const api = await context.api();
    const pipeline = await pipelineMeant(context, positionals[0]);
    const started = await api.call('startRun', { name: pipeline }).catch(async (error: unknown) => {
      throw error instanceof ApiError && error.status === 404 ? await noPipeline(api, pipeline) : error;
    });
    if (values.watch) return watchRun(context, started.runId, { exitStatus: true });
    if (context.json) context.terminal.print(JSON.stringify(started, null, 2));
    else context.terminal.print(`${started.runId} is open: tidewheel watch ${started.runId}`);
    return 0;
  },
});
